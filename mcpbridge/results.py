"""What tools give: small, as it stays in an agent's context. `text` is stored text and so untrusted."""

from typing import TYPE_CHECKING

from pydantic import BaseModel

from memories.listing import Page
from memories.recall import Recalled
from memories.remember import Remembered
from memories.wrapping import defang

if TYPE_CHECKING:
    from memories.models import Memory

OPENING = 200
"""Characters that a list shows of a memory."""


class Stored(BaseModel):
    uid: str | None
    status: str
    reason: str = ""
    redacted: list[str] = []
    superseded: list[str] = []

    @classmethod
    def of(cls, kept: Remembered) -> "Stored":
        return cls.model_validate(vars(kept))


class Found(BaseModel):
    uid: str
    text: str
    kind: str
    project: str
    date: str
    relevance: float


class Recall(BaseModel):
    memories: list[Found]
    degraded: str | None = None

    @classmethod
    def of(cls, recalled: Recalled) -> "Recall":
        found = [
            Found(**_facts(item.memory), text=defang(item.excerpt), relevance=item.relevance) for item in recalled.items
        ]
        return cls(memories=found, degraded=recalled.degraded)


class Forgotten(BaseModel):
    uids: list[str]


class Listed(BaseModel):
    uid: str
    text: str
    kind: str
    project: str
    date: str
    tags: list[str]
    superseded_by: str | None = None

    @classmethod
    def whole(cls, memory: "Memory") -> "Listed":
        successor = memory.superseded_by
        text = defang(memory.content)
        return cls(**_facts(memory), text=text, tags=memory.tags, superseded_by=successor.uid if successor else None)

    @classmethod
    def opening(cls, memory: "Memory") -> "Listed":
        whole = cls.whole(memory)
        cut = f"{whole.text[:OPENING]} …" if len(whole.text) > OPENING else whole.text
        return whole.model_copy(update={"text": cut})


class Listing(BaseModel):
    memories: list[Listed]
    total: int

    @classmethod
    def of(cls, page: Page) -> "Listing":
        return cls(memories=[Listed.opening(memory) for memory in page.items], total=page.total)


class Stats(BaseModel):
    by_state: dict[str, int]
    by_kind: dict[str, int]
    by_project: dict[str, int]
    injections: int
    database_bytes: int
    note: str = ""


def _facts(memory: "Memory") -> dict[str, str]:
    date = f"{memory.valid_from:%Y-%m-%d}"
    return {"uid": memory.uid, "kind": memory.kind, "project": memory.project, "date": date}
