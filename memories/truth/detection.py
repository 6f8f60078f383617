"""Which stored memories a new one may contradict, before it is stored. Nothing here writes."""

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from memories import embedders, search, statements
from memories.conf import config
from memories.embedding import Embedded
from memories.models import Conflict, Kind, Memory
from memories.querysets import ANY_PROJECT, MemoryQuerySet
from memories.search import keyword, vectors
from memories.truth import evidence, judges
from memories.truth.dates import undated
from memories.truth.judges import Case, Judge, JudgeFailed
from memories.truth.likeness import Rarity, overlap, shares_most

CANDIDATES = 20
MOST_READ = 40_000
"""Characters of the candidates in all, the best first: to compare long texts takes long."""
MOST_PAIRS = 2
"""Of one stored memory: whoever settles them reads them all."""
JUDGE_PATIENCE_SECONDS = 2.0
"""How long a write waits for the judge in all; what is undecided then is judged later."""
DEFAULT_SIMILARITY = 0.45
SHARED_IF_READ, SHARED_IF_NOT = 2, 3
"""Words that two texts share at least, found by words and without evidence: for a judge that reads them, or none."""


@dataclass(frozen=True)
class Found:
    """A pair that a memory makes with one that is stored. `said` is the local evidence, "" for similarity alone."""

    other: Memory
    is_older: bool
    similarity: float
    likeness: float
    said: str
    verdict: str = Conflict.Verdict.PENDING
    judge: str = ""
    reason: str = ""


def find(memory: Memory, embedded: Embedded, *, leave_out: Collection[str] = (), now: datetime) -> list[Found]:
    """The pairs that a memory, not stored yet, makes with current ones, the best attested first."""
    judge = judges.current()
    if memory.kind == Kind.ARTIFACT:
        return []
    is_late = memory.valid_from < now
    if not (judge.judges_everything or is_late or evidence.may_tell(memory.content)):
        return []
    near = _near(memory, embedded, now=now)
    others = _first_of(statements.by_ids(Memory, near.keys()), near)
    rarity = Rarity(other.content for other in others)
    found = []
    for other in others:
        if other.uid not in leave_out and other.content_hash != memory.content_hash:
            pair = _compared(memory, other, near[other.pk], rarity=rarity, judge=judge)
            if pair:
                found.append(pair)
    found.sort(key=lambda pair: (not pair.said, -pair.likeness))
    return _judged(memory, found[:MOST_PAIRS])


def _near(memory: Memory, embedded: Embedded, *, now: datetime) -> dict[int, float | None]:
    """Current memories that may speak of the same: by id, their cosine, None for those found by words only."""
    places = [(memory.scope, memory.project), (memory.scope, "")] if memory.project else []
    queryset = Memory.objects.in_project(memory.project or ANY_PROJECT).in_scope(memory.scope).current(now)
    asked = evidence.telling(memory.content)
    found: dict[int, float | None] = {hit.id: None for hit in keyword.find(queryset, asked, places=places)[:CANDIDATES]}
    return found | _close(memory, embedded, queryset, places)


def _first_of(memories: Mapping[int, Memory], order: Iterable[int]) -> list[Memory]:
    """The candidates in order, without those that would exceed MOST_READ characters; the first one is always kept."""
    kept: list[Memory] = []
    left = MOST_READ
    for one in order:
        if one in memories and (not kept or len(memories[one].content) <= left):
            kept.append(memories[one])
            left -= len(memories[one].content)
    return kept


def _close(
    memory: Memory, embedded: Embedded, queryset: MemoryQuerySet, places: Sequence[search.Place]
) -> dict[int, float | None]:
    if embedded.vectors is None or len(embedded.vectors) != 1:
        return {}
    matrix = vectors.matrix(embedded.model, embedded.vectors.shape[1])
    scored = matrix.score(embedded.vectors)
    best = scored.best(
        places or matrix.places(memory.scope),
        superseded=False,
        floor=least_similarity(),
        limit=CANDIDATES,
        accept=lambda ids: search.among(queryset, ids),
    )
    return {close.id: close.cosine for close in best}


def least_similarity() -> float:
    """The raw cosine from which memories may contradict each other."""
    given = config().conflict_sim
    if given is not None:
        return given
    embedder = embedders.current()
    return embedder.profile.conflict if embedder else DEFAULT_SIMILARITY


def _compared(memory: Memory, other: Memory, cosine: float | None, *, rarity: Rarity, judge: Judge) -> Found | None:
    is_older = other.valid_from <= memory.valid_from
    older, newer = (other, memory) if is_older else (memory, other)
    if newer.kind == Kind.ARTIFACT or (Kind.PREFERENCE in (older.kind, newer.kind) and older.kind != newer.kind):
        return None  # what somebody likes is ended by what they like now, not by a fact
    near = cosine is not None and older.kind != Kind.ARTIFACT
    # Dates that say when each was written differ always: no evidence.
    old, new = undated(older.content), undated(newer.content)
    told = evidence.evidence(old, new, near=near, rarity=rarity)
    if told:
        return Found(other, is_older, round(cosine or told.likeness, 4), told.likeness, told.said)
    shared = SHARED_IF_READ if judge.is_slow else SHARED_IF_NOT
    if judge.judges_everything and (cosine is not None or shares_most(old, new, least=shared)):
        similarity = round(cosine or overlap(old, new), 4)
        return Found(other, is_older, similarity, similarity, "")
    return None


def _judged(memory: Memory, found: Sequence[Found]) -> list[Found]:
    """The pairs with what the judge says of them, as long as its time lasts."""
    judge = judges.current()
    ends = time.monotonic() + JUDGE_PATIENCE_SECONDS
    ruled = []
    for pair in found:
        older, newer = (pair.other, memory) if pair.is_older else (memory, pair.other)
        ruling = None
        left = ends - time.monotonic()
        if left > 0:
            try:
                ruling = judge.rule(Case(older.content, newer.content, pair.said), patience=left)
            except JudgeFailed:
                ruling = None  # judged later
        if ruling:
            pair = replace(pair, verdict=ruling.verdict, judge=judge.name, reason=ruling.reason)  # noqa: PLW2901
        if ruling or pair.said or judge.is_slow:  # what is only similar needs a judge, if a later one
            ruled.append(pair)
    return ruled
