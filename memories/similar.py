"""Memories like one that is stored, in every project of its scope: what a person may want to merge."""

from dataclasses import dataclass

import numpy as np

from memories import clock, embedders, search, statements
from memories.models import Memory, Passage
from memories.querysets import MemoryQuerySet
from memories.search import keyword, vectors

LIMIT = 5
LEAST_COVERAGE = 0.3
"""Of the information of the memory; less than that is chance."""
LONGEST_ASKED = 2000
"""Characters of the memory that the others are compared with."""


@dataclass(frozen=True)
class Similar:
    """`cosine` and `coverage` (the share of the words' information) are None where that channel did not find it."""

    memory: Memory
    cosine: float | None = None
    coverage: float | None = None


def similar(memory: Memory, *, limit: int = LIMIT) -> list[Similar]:
    """The current memories nearest to one, by its vector if it has one, and by its words. Loads no model."""
    now = clock.now()
    others = Memory.objects.in_scope(memory.scope).current(now).exclude(pk=memory.pk)
    covered = _by_words(memory, others)
    close = _by_vector(memory, others, limit=limit)
    best = sorted({*covered, *close}, key=lambda one: (-max(close.get(one, 0), covered.get(one, 0)), -one))[:limit]
    found = statements.by_ids(Memory, best)
    return [Similar(found[one], close.get(one), covered.get(one)) for one in best if one in found]


def _by_words(memory: Memory, others: MemoryQuerySet) -> dict[int, float]:
    hits = keyword.find(others, memory.content[:LONGEST_ASKED])
    return {hit.id: round(hit.coverage, 2) for hit in hits if hit.coverage >= LEAST_COVERAGE}


def _by_vector(memory: Memory, others: MemoryQuerySet, *, limit: int) -> dict[int, float]:
    embedder = embedders.current()
    if embedder is None or not embedder.identity:
        return {}
    own = Passage.objects.filter(memory=memory, model=embedder.identity, text_hash=memory.content_hash)
    passage = own.order_by("position").first()
    if passage is None:
        return {}
    vector = np.frombuffer(passage.vector, "<f4").reshape(1, -1)
    matrix = vectors.matrix(embedder.identity, vector.shape[1])
    best = matrix.score(vector).best(
        matrix.places(memory.scope),
        superseded=False,
        floor=embedder.profile.floor,
        limit=limit,
        accept=lambda ids: search.among(others, ids),
    )
    return {close.id: round(close.cosine, 2) for close in best}
