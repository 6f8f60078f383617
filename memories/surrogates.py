"""JSON whose strings hold halves of characters, as JavaScript cuts them: they can be stored and sent nowhere.

Standard library only.
"""

import json
from typing import Any

_ESCAPED = b"\\ud"


def loads(text: bytes) -> Any:
    """The value of a JSON text, with lone surrogates replaced. Raises ValueError for what is no JSON in UTF-8."""
    value = json.loads(text)
    return _whole(value) if _ESCAPED in text.lower() else value


def repaired(text: bytes) -> bytes:
    """A JSON text without lone surrogates; what is no JSON stays as it is."""
    if _ESCAPED not in text.lower():
        return text
    try:
        return json.dumps(loads(text)).encode()
    except (ValueError, RecursionError):
        return text


def _whole(value: Any) -> Any:
    match value:
        case str():
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case list():
            return [_whole(one) for one in value]
        case dict():
            return {_whole(key): _whole(one) for key, one in value.items()}
        case _:
            return value
