"""The JSON of history and conflicts."""

from datetime import datetime
from typing import TYPE_CHECKING, Literal

from ninja import Schema

from memories.truth.history import Event, History
from memsite.api.schemas import MemoryOut

if TYPE_CHECKING:
    from memories.models import Conflict


class EventOut(Schema):
    """`at`: when the memory began or ceased to hold, or the moment that was asked about."""

    at: datetime
    event: Literal["began", "held", "ended"]
    memory: MemoryOut

    @classmethod
    def of(cls, event: Event) -> "EventOut":
        return cls.model_construct(at=event.at, event=event.what, memory=MemoryOut.of(event.memory))


class HistoryOut(Schema):
    items: list[EventOut]
    total: int
    limit: int
    offset: int

    @classmethod
    def of(cls, history: History) -> "HistoryOut":
        items = [EventOut.of(event) for event in history.events]
        return cls.model_construct(items=items, total=history.total, limit=history.limit, offset=history.offset)


class ConflictOut(Schema):
    id: int
    older: MemoryOut
    newer: MemoryOut
    similarity: float
    verdict: Literal["pending", "confirmed", "rejected"]
    judge: str
    evidence: str
    reason: str
    created_at: datetime
    decided_by: str
    decided_at: datetime | None

    @classmethod
    def of(cls, conflict: "Conflict") -> "ConflictOut":
        values = {name: getattr(conflict, name) for name in cls.model_fields if name not in {"id", "older", "newer"}}
        older, newer = MemoryOut.of(conflict.older), MemoryOut.of(conflict.newer)
        return cls.model_construct(id=conflict.pk, older=older, newer=newer, **values)


class ConflictPageOut(Schema):
    items: list[ConflictOut]
    total: int
    limit: int
    offset: int


class VerdictIn(Schema):
    verdict: Literal["confirmed", "rejected"]
    reason: str | None = None
