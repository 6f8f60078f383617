"""Archives written by hand."""

import json
from typing import Any


def row(**fields: Any) -> str:
    return json.dumps({"type": "memory", "uid": "a" * 32, "content": "the parrot", **fields})


def archived(*rows: str, holds: str = "history") -> str:
    return "\n".join([json.dumps({"format": "memsite", "version": 1, "holds": holds}), *rows])
