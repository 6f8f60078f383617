"""Answers as JSON, with times to the microsecond: a client may send a `valid_from` back as `as_of`."""

from datetime import datetime
from typing import Any

from ninja.renderers import JSONRenderer
from ninja.responses import NinjaJSONEncoder


class ExactEncoder(NinjaJSONEncoder):
    def default(self, o: Any) -> Any:
        return o.isoformat().replace("+00:00", "Z") if isinstance(o, datetime) else super().default(o)


class ExactRenderer(JSONRenderer):
    encoder_class = ExactEncoder
