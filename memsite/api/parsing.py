"""Request bodies: JSON, with lone surrogates replaced as they can be stored nowhere."""

from typing import Any

from django.http import HttpRequest
from ninja.parser import Parser

from memories import surrogates


class JsonParser(Parser):
    def parse_body(self, request: HttpRequest) -> Any:
        return surrogates.loads(request.body)
