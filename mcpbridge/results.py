"""What tools give: small, as it stays in an agent's context. `text` is stored text and so untrusted."""

from typing import TYPE_CHECKING

from pydantic import BaseModel

from memories import lifecycle
from memories.listing import Page
from memories.recall import Recalled
from memories.remember import Remembered
from memories.truth import consolidation, history
from memories.wrapping import defang

if TYPE_CHECKING:
    from memories.models import Conflict, Memory

OPENING = 200
"""Characters that a list shows of a memory."""


class Opposing(BaseModel):
    """A stored memory that the new one may contradict."""

    id: int
    uid: str
    text: str
    evidence: str
    verdict: str


class Stored(BaseModel):
    uid: str | None
    status: str
    reason: str = ""
    redacted: list[str] = []
    superseded: list[str] = []
    conflicts: list[Opposing] = []

    @classmethod
    def of(cls, kept: Remembered) -> "Stored":
        pairs = [
            Opposing(id=pair.id, uid=pair.uid, text=defang(pair.excerpt), evidence=pair.evidence, verdict=pair.verdict)
            for pair in kept.conflicts
        ]
        return cls.model_validate({**vars(kept), "conflicts": pairs})


class Found(BaseModel):
    uid: str
    text: str
    kind: str
    project: str
    date: str
    relevance: float
    note: str = ""


class Recall(BaseModel):
    memories: list[Found]
    degraded: str | None = None

    @classmethod
    def of(cls, recalled: Recalled) -> "Recall":
        found = [
            Found(**_facts(item.memory), text=defang(item.excerpt), relevance=item.relevance, note=item.doubt)
            for item in recalled.items
        ]
        return cls(memories=found, degraded=recalled.degraded)


class Forgotten(BaseModel):
    uids: list[str]
    note: str = ""

    @classmethod
    def of(cls, forgotten: lifecycle.Forgotten) -> "Forgotten":
        ended = ", ".join(forgotten.ended)
        note = f"It had ended {ended}, which stays so; if that holds again, store its text anew." if ended else ""
        return cls(uids=list(forgotten.uids), note=note)


class Listed(BaseModel):
    uid: str
    text: str
    kind: str
    project: str
    date: str
    tags: list[str]
    superseded_by: str = ""

    @classmethod
    def whole(cls, memory: "Memory") -> "Listed":
        successor = memory.superseded_by
        text = defang(memory.content)
        return cls(**_facts(memory), text=text, tags=memory.tags, superseded_by=successor.uid if successor else "")

    @classmethod
    def opening(cls, memory: "Memory") -> "Listed":
        return cls.whole(memory).model_copy(update={"text": _opening(memory)})


class Listing(BaseModel):
    memories: list[Listed]
    total: int

    @classmethod
    def of(cls, page: Page) -> "Listing":
        return cls(memories=[Listed.opening(memory) for memory in page.items], total=page.total)


class Event(BaseModel):
    date: str
    event: str
    uid: str
    text: str
    reason: str = ""
    superseded_by: str = ""

    @classmethod
    def of(cls, event: history.Event) -> "Event":
        memory, successor = event.memory, event.memory.superseded_by
        return cls(
            date=f"{event.at:%Y-%m-%d}",
            event=event.what,
            uid=memory.uid,
            text=_opening(memory),
            reason=memory.superseded_reason,
            superseded_by=successor.uid if successor else "",
        )


class History(BaseModel):
    events: list[Event]
    total: int

    @classmethod
    def of(cls, found: history.History) -> "History":
        return cls(events=[Event.of(event) for event in found.events], total=found.total)


class Pair(BaseModel):
    id: int
    older: str
    older_text: str
    newer: str
    newer_text: str
    evidence: str
    verdict: str
    reason: str = ""

    @classmethod
    def of(cls, pair: "Conflict") -> "Pair":
        return cls(
            id=pair.pk,
            older=pair.older.uid,
            older_text=_opening(pair.older),
            newer=pair.newer.uid,
            newer_text=_opening(pair.newer),
            evidence=pair.evidence,
            verdict=pair.verdict,
            reason=pair.reason,
        )


class Pairs(BaseModel):
    conflicts: list[Pair]
    total: int


class Cluster(BaseModel):
    uid: str
    uids: list[str]
    text: str


class Run(BaseModel):
    run: str
    clusters: list[Cluster] = []
    restored: list[str] = []
    left: list[str] = []

    @classmethod
    def of(cls, done: consolidation.Consolidated | consolidation.Undone) -> "Run":
        if isinstance(done, consolidation.Undone):
            return cls(run=done.run, restored=list(done.restored), left=list(done.left))
        clusters = [
            Cluster(uids=list(one.uids), uid=one.uid or "", text=_cut(defang(one.text))) for one in done.clusters
        ]
        return cls(run=done.run, clusters=clusters)


class Stats(BaseModel):
    by_state: dict[str, int]
    by_kind: dict[str, int]
    by_project: dict[str, int]
    injections: int
    database_bytes: int
    note: str = ""


def _opening(memory: "Memory") -> str:
    return _cut(defang(memory.content))


def _cut(text: str) -> str:
    return f"{text[:OPENING]} …" if len(text) > OPENING else text


def _facts(memory: "Memory") -> dict[str, str]:
    date = f"{memory.valid_from:%Y-%m-%d}"
    return {"uid": memory.uid, "kind": memory.kind, "project": memory.project, "date": date}
