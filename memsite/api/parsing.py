"""Request bodies: JSON, with lone surrogates replaced as they can be stored nowhere."""

import json
from typing import Any

from django.http import HttpRequest
from ninja.parser import Parser

_ESCAPED_SURROGATE = b"\\ud"


class JsonParser(Parser):
    def parse_body(self, request: HttpRequest) -> Any:
        body = request.body
        parsed = json.loads(body)
        return _repaired(parsed) if _ESCAPED_SURROGATE in body.lower() else parsed


def _repaired(value: Any) -> Any:
    match value:
        case str():
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case list():
            return [_repaired(one) for one in value]
        case dict():
            return {_repaired(key): _repaired(one) for key, one in value.items()}
        case _:
            return value
