"""From texts to stored vectors. Nothing here makes a write fail: what has no vector now is pending."""

import logging
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import batched
from typing import Literal

from django.db import transaction
from django.db.models import Min

from memories import embedders, search
from memories.conf import config
from memories.embedders import Embedder, EmbeddingFailed, Vectors
from memories.models import Memory, Passage
from memories.passages import passages
from memories.querysets import MemoryQuerySet
from memories.search import vectors
from memories.search.terms import content_words
from memories.sentences import Span

type VectorState = Literal["stored", "pending", "off"]

PATIENCE_SECONDS = 2.0
"""How long a write waits for a model that is being loaded."""
MOST_AT_ONCE = 64
"""Passages that a write embeds before it answers; a longer text is embedded later."""
MOST_NEAR = 5
LOAD_SECONDS = 300.0
"""How long one who has time waits for the model."""
MOST_NOTED = 10_000
AT_ONCE = 500

logger = logging.getLogger(__name__)
something_noted = threading.Event()
_noted: deque[int] = deque(maxlen=MOST_NOTED)


@dataclass(frozen=True)
class Embedded:
    """The vectors of a text that is not stored yet: a row a span."""

    state: VectorState
    model: str = ""
    spans: Sequence[Span] = ()
    vectors: Vectors | None = None

    def complete(self, memory: Memory) -> None:
        """Give a memory with this very text its vectors if it lacks them."""
        if self.vectors is not None and Memory.objects.filter(pk=memory.pk).without_vectors(self.model).exists():
            self.save(memory)

    def save(self, memory: Memory) -> None:
        """Replace the vectors of a stored memory, in the transaction of its text."""
        if self.vectors is None:
            return
        Passage.objects.filter(memory=memory).delete()
        Passage.objects.bulk_create(
            Passage(
                memory=memory,
                position=position,
                start=start,
                end=end,
                vector=vector.astype("<f4").tobytes(),
                model=self.model,
                text_hash=memory.content_hash,
            )
            for position, ((start, end), vector) in enumerate(zip(self.spans, self.vectors, strict=True))
        )


def embed(text: str) -> Embedded:
    """The vectors of a text, if there is a model and it is quick enough."""
    embedder = embedders.current()
    if embedder is None:
        return Embedded("off")
    spans = passages(text)
    if len(spans) > MOST_AT_ONCE:
        return Embedded("pending")
    try:
        return _embed(embedder, text, spans)
    except EmbeddingFailed as error:
        logger.debug("A memory has no vector yet: %s", error)  # the embedder has said why, once
        return Embedded("pending")


def _embed(embedder: Embedder, text: str, spans: Sequence[Span], *, patience: float = PATIENCE_SECONDS) -> Embedded:
    vectors = embedder.documents([text[start:end] for start, end in spans], patience=patience)
    return Embedded("stored", embedder.identity, spans, vectors)


def near_twin(memory: Memory, embedded: Embedded, *, now: datetime) -> Memory | None:
    """A current memory of the same place that says the same in the same words, save for case and stop words.

    The vectors only find it: the words decide, in their order, since a text and its opposite may be as near as 0.99.
    """
    least = config().dedup_sim
    if embedded.vectors is None or len(embedded.vectors) != 1 or not least:
        return None
    place = Memory.objects.current(now).filter(scope=memory.scope, project=memory.project)
    near = (
        vectors.matrix(embedded.model, embedded.vectors.shape[1])
        .score(embedded.vectors)
        .best(
            [(memory.scope, memory.project)],
            superseded=False,
            floor=least,
            limit=MOST_NEAR,
            accept=lambda ids: search.among(place, ids),
        )
    )
    words = content_words(memory.content)
    found = place.in_bulk([one.id for one in near])
    return next((found[one.id] for one in near if content_words(found[one.id].content) == words), None)


def pending(embedder: Embedder) -> MemoryQuerySet:
    """Memories without vectors of this model for their present text."""
    return Memory.objects.filter(deleted_at=None).without_vectors(embedder.identity)


def later(memory: Memory) -> None:
    """Note a memory that was stored without its vectors, for whoever calls `repair_noted`."""
    _noted.append(memory.pk)
    something_noted.set()


def repair_noted() -> int:
    """Embed what was noted in this process. Returns how many; raises EmbeddingFailed, and then nothing is forgotten."""
    something_noted.clear()
    ids = list(_noted)
    try:
        done = sum(1 for _ in repair(patience=LOAD_SECONDS, ids=ids))
    except EmbeddingFailed:
        something_noted.set()
        raise
    for _ in ids:
        _noted.popleft()
    return done


def since_first_vector() -> list[int]:
    """Pending memories that are younger than the first vector of the model: those that it failed, or a crash cut off.

    What is older than the model waits for a backfill. Raises EmbeddingFailed.
    """
    embedder = embedders.current()
    if embedder is None:
        return []
    embedder.documents(["probe"], patience=LOAD_SECONDS)
    oldest = Passage.objects.filter(model=embedder.identity).aggregate(oldest=Min("memory"))["oldest"]
    if oldest is None:
        return []
    return list(pending(embedder).filter(pk__gt=oldest).values_list("pk", flat=True))


def count_pending() -> int:
    """How many memories have no vectors of the model in use; 0 without one, or before it embedded anything."""
    embedder = embedders.current()
    return pending(embedder).count() if embedder and embedder.identity else 0


def repair(*, patience: float = LOAD_SECONDS, ids: Sequence[int] | None = None) -> Iterator[int]:
    """Embed what is pending, newest first, a memory a transaction; yields how many are left after each.

    Safe to break off at any time and to run twice at once. Raises EmbeddingFailed.
    """
    embedder = embedders.current()
    if embedder is None:
        return
    embedder.documents(["probe"], patience=patience)  # its identity is known from now on
    waiting = pending(embedder).order_by("-pk").values_list("pk", flat=True)
    if ids is None:
        wanted = list(waiting)
    else:  # SQLite takes no more than some ten thousand ids in one statement
        wanted = [one for some in batched(ids, AT_ONCE, strict=False) for one in waiting.filter(pk__in=some)]
    for done, one in enumerate(wanted, start=1):
        memory = pending(embedder).filter(pk=one).first()
        if memory is not None:
            _repair_one(embedder, memory, patience=patience)
        yield len(wanted) - done


def _repair_one(embedder: Embedder, memory: Memory, *, patience: float) -> None:
    """Embed a memory and keep its vectors. A text that the model refuses is left out, a model that fails raises."""
    try:
        embedded = _embed(embedder, memory.content, passages(memory.content), patience=patience)
    except EmbeddingFailed as error:
        embedder.documents(["probe"], patience=patience)
        logger.warning("Memory %s cannot be embedded: %s", memory.uid, error)
        return
    with transaction.atomic():
        # Forgotten or embedded meanwhile: then there is nothing to do.
        if pending(embedder).filter(pk=memory.pk).exists():
            embedded.save(memory)
