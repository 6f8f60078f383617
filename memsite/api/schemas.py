"""The JSON that REST takes and gives. Meaning and limits are the domain's; here are names, types and defaults."""

from datetime import datetime
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, Field

from memories.embedders import Description
from memories.listing import Page
from memories.recall import Item, Recalled
from memories.remember import Remembered

if TYPE_CHECKING:
    from memories.models import Memory

Labels = list[str]


class IngestIn(BaseModel):
    content: str
    kind: str | None = Field(None, description="preference, decision, fact or artifact")
    source: str = "api"
    scope: str | None = None
    project: str | None = Field(None, description="owner/name; `*` = holds everywhere")
    cwd: str | None = Field(None, description="Working directory, from which the project is derived")
    tags: Labels | None = None
    harness: str | None = None
    session: str | None = None
    actor: str | None = None
    ttl_seconds: float | None = Field(None, description="Makes a working memory that ends by itself")
    valid_from: str | None = Field(None, description="ISO 8601 with offset, or a date; not in the future")
    supersedes: list[str] | None = Field(None, description="uids of the memories that this one replaces")
    correction: bool = Field(False, description="What it replaces was never so")


class PairOut(BaseModel):
    """A stored memory that the new one may contradict; settle it by its id."""

    id: int
    uid: str
    excerpt: str
    evidence: str
    verdict: Literal["pending", "confirmed", "rejected"]


class RememberedOut(BaseModel):
    uid: str | None
    status: Literal["created", "refreshed", "skipped"]
    reason: str
    redacted: list[str]
    superseded: list[str]
    conflicts: list[PairOut]
    vector: Literal["stored", "pending", "off"]

    @classmethod
    def of(cls, kept: Remembered) -> "RememberedOut":
        return cls.model_validate({**vars(kept), "conflicts": [vars(pair) for pair in kept.conflicts]})


class RecallIn(BaseModel):
    query: str
    mode: Literal["inject", "search"] = "inject"
    scope: str | None = None
    project: str | None = Field(None, description="owner/name; `*` = the whole scope")
    cwd: str | None = None
    limit: int = Field(5, ge=1, le=50)
    budget_chars: int = Field(2000, ge=0, le=1_000_000, description="UTF-16 units the block may have")
    kinds: Labels | None = None
    tags: Labels | None = Field(None, description="All must match")
    as_of: str | None = Field(None, description="What was true then: ISO 8601 with offset, or a date")
    harness: str | None = None
    session: str | None = Field(None, description="With it, what the session has in its context is left out")
    hook: str | None = None
    fingerprint: str | None = Field(None, description="Of the last block, to be told that it is unchanged")
    reset: bool = Field(False, description="The session's context starts afresh")


class HitOut(BaseModel):
    uid: str
    content: str
    excerpt: str
    kind: str
    project: str
    tags: Labels
    valid_from: datetime
    updated_at: datetime
    score: float
    relevance: float
    why: dict[str, object]

    @classmethod
    def of(cls, item: Item) -> "HitOut":
        memory = item.memory
        return cls.model_construct(
            uid=memory.uid,
            content=memory.content,
            excerpt=item.excerpt,
            kind=memory.kind,
            project=memory.project,
            tags=memory.tags,
            valid_from=memory.valid_from,
            updated_at=memory.updated_at,
            score=item.score,
            relevance=item.relevance,
            why=item.why,
        )


class WithheldOut(BaseModel):
    below_relevance: int
    in_context: int
    over_budget: int
    best_relevance: float


class RecallOut(BaseModel):
    block: str
    chars: int
    fingerprint: str
    unchanged: bool
    memories: list[HitOut]
    withheld: WithheldOut
    degraded: str | None
    took_ms: float

    @classmethod
    def of(cls, recalled: Recalled, *, known_fingerprint: str) -> "RecallOut":
        return cls.model_construct(
            block=recalled.block.text,
            chars=recalled.block.chars,
            fingerprint=known_fingerprint if recalled.unchanged else recalled.fingerprint,
            unchanged=recalled.unchanged,
            memories=[HitOut.of(item) for item in recalled.items],
            withheld=WithheldOut.model_construct(**vars(recalled.withheld)),
            degraded=recalled.degraded,
            took_ms=recalled.took_ms,
        )


class MemoryOut(BaseModel):
    uid: str
    content: str
    scope: str
    project: str
    kind: str
    tier: str
    source: str
    harness: str
    session: str
    actor: str
    tags: Labels
    pinned: bool
    confidence: float
    access_count: int
    injection_count: int
    created_at: datetime
    updated_at: datetime
    valid_from: datetime
    valid_to: datetime | None
    superseded_by: str | None
    superseded_reason: str
    expires_at: datetime | None

    @classmethod
    def of(cls, memory: "Memory") -> "MemoryOut":
        values = {name: getattr(memory, name) for name in cls.model_fields if name != "superseded_by"}
        successor = memory.superseded_by
        return cls.model_construct(superseded_by=successor.uid if successor else None, **values)


class MemoryWithChainOut(MemoryOut):
    chain: list[MemoryOut] = Field(description="Every version of the fact, oldest first")

    @classmethod
    def with_chain(cls, memory: "Memory", chain: "list[Memory]") -> "MemoryWithChainOut":
        versions = [MemoryOut.of(one) for one in chain]
        return cls.model_construct(chain=versions, **vars(MemoryOut.of(memory)))


class MemoryPageOut(BaseModel):
    items: list[MemoryOut]
    total: int
    limit: int
    offset: int

    @classmethod
    def of(cls, page: Page) -> "MemoryPageOut":
        items = [MemoryOut.of(memory) for memory in page.items]
        return cls.model_construct(items=items, total=page.total, limit=page.limit, offset=page.offset)


class MemoryPatch(BaseModel):
    content: str | None = None
    correction: bool = False
    tags: Labels | None = None
    kind: str | None = None
    project: str | None = None
    pinned: bool | None = None


class ReportIn(BaseModel):
    harness: str | None = None
    hook: str | None = None
    scope: str | None = None
    session: str | None = None
    project: str | None = None
    cwd: str | None = None
    query: str | None = None
    uids: list[str] = Field(max_length=500)
    chars: int = Field(0, ge=0, le=100_000_000)
    fingerprint: str | None = Field(None, max_length=64)


class ReportOut(BaseModel):
    accepted: int


class InjectionOut(BaseModel):
    at: datetime
    harness: str
    hook: str
    scope: str
    project: str
    session: str
    query: str
    chars: int
    fingerprint: str
    uids: list[str]


class InjectionPageOut(BaseModel):
    items: list[InjectionOut]
    total: int
    limit: int
    offset: int


class EmbedderOut(BaseModel):
    name: str
    device: str | None
    state: Literal["off", "ready", "loading", "failed"]

    @classmethod
    def of(cls, described: Description) -> "EmbedderOut":
        return cls(name=described.name, device=described.device, state=described.state)


class HealthOut(BaseModel):
    status: Literal["ok", "degraded"]
    version: str
    database: Literal["ok", "busy", "failed"]
    embedder: EmbedderOut
    pid: int


class MemoryTotalsOut(BaseModel):
    by_state: dict[str, int]
    by_kind: dict[str, int]
    by_project: dict[str, int]


class VectorTotalsOut(BaseModel):
    stored: int = 0
    pending: int = 0
    foreign: int = 0


class MostInjectedOut(BaseModel):
    uid: str
    count: int


class InjectionTotalsOut(BaseModel):
    total: int
    last_7_days: int
    chars: int
    tokens: int
    by_harness: dict[str, int]
    by_hook: dict[str, int]
    most_injected: list[MostInjectedOut]


class SpoolOut(BaseModel):
    lines: int
    bytes: int


class StatsOut(BaseModel):
    memories: MemoryTotalsOut
    vectors: VectorTotalsOut
    database_bytes: int
    embedder: EmbedderOut
    calibration: str = Field(description="What relevance was calibrated for")
    injections: InjectionTotalsOut
    spool: SpoolOut = Field(description="What hooks wrote down and the service did not read yet")


class PurgedOut(BaseModel):
    forgotten: int
    expired: int
    scrubbed: bool
    reason: str


class BackfillOut(BaseModel):
    repaired: int
    pending: int
