"""What mem0's `get_all` and its platform export: `{"results": [...]}`, a list, or a record a line."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from memories.errors import Rejected
from memories.transfer import foreign
from memories.transfer.foreign import Found
from memories.transfer.report import Flaw
from memories.transfer.source import Source, document

_LISTS = ("results", "memories", "data")


def read(source: Source, *, now: datetime) -> Iterator[Found]:
    try:
        value = document(source.text(), name=source.name)
    except Rejected:
        if not is_record(next(iter(source.lines()), ("", None))[1]):
            raise
        for place, record in source.lines():
            yield record if isinstance(record, Flaw) else foreign.item(record, place=place, now=now)
        return
    yield from foreign.items(_records(value), what="result", now=now)


def is_record(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("memory"), str)


def _records(value: Any) -> list[Any]:
    listed = next((value[name] for name in _LISTS if name in value), None) if isinstance(value, dict) else value
    if is_record(value):
        return [value]
    if not isinstance(listed, list):
        raise Rejected('The document is neither {"results": [...]} nor a list of memories.')
    return listed
