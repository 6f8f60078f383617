"""The JSON of history, conflicts and consolidation."""

from datetime import datetime
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, Field

from memories.truth.consolidation import Consolidated
from memories.truth.history import Event, History
from memsite.api.schemas import MemoryOut

if TYPE_CHECKING:
    from memories.models import Conflict


class EventOut(BaseModel):
    """`at`: when the memory began or ceased to hold, or the moment that was asked about."""

    at: datetime
    event: Literal["began", "held", "ended"]
    memory: MemoryOut

    @classmethod
    def of(cls, event: Event) -> "EventOut":
        return cls.model_construct(at=event.at, event=event.what, memory=MemoryOut.of(event.memory))


class HistoryOut(BaseModel):
    items: list[EventOut]
    total: int
    limit: int
    offset: int

    @classmethod
    def of(cls, history: History) -> "HistoryOut":
        items = [EventOut.of(event) for event in history.events]
        return cls.model_construct(items=items, total=history.total, limit=history.limit, offset=history.offset)


class ConflictOut(BaseModel):
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


class ConflictPageOut(BaseModel):
    items: list[ConflictOut]
    total: int
    limit: int
    offset: int


class VerdictIn(BaseModel):
    verdict: Literal["confirmed", "rejected"]
    reason: str | None = None


class ConsolidateIn(BaseModel):
    dry_run: bool = Field(False, description="Only the plan; no judge is asked")
    scope: str | None = None
    project: str | None = Field(None, description="owner/name; missing or `*` = every project of the scope")
    undo: str | None = Field(None, description="The run to undo, instead of a new one")


class ClusterOut(BaseModel):
    """Memories that were, or would be, made one: the uids of the originals, oldest first, and of the summary."""

    scope: str
    project: str
    kind: str
    uids: list[str]
    text: str
    uid: str | None


class ConsolidatedOut(BaseModel):
    """`restored`, `removed` and `left` (changed since, so left alone) tell of an undo."""

    run: str
    clusters: list[ClusterOut] = Field(default_factory=list)
    looked_at: int = 0
    restored: list[str] = Field(default_factory=list)
    removed: list[str] = Field(default_factory=list)
    left: list[str] = Field(default_factory=list)

    @classmethod
    def of(cls, done: Consolidated) -> "ConsolidatedOut":
        return cls.model_validate({**vars(done), "clusters": [vars(cluster) for cluster in done.clusters]})
