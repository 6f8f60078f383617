"""What is near to a query by the meaning of its passages."""

import logging
from collections.abc import Collection
from dataclasses import dataclass, field

from memories import embedders, search
from memories.conf import config
from memories.embedders import EmbeddingFailed
from memories.embedders.profiles import Profile
from memories.querysets import MemoryQuerySet
from memories.search import Place, vectors
from memories.search.vectors import Close, Scored

CANDIDATES = 50
PATIENCE_SECONDS = 0.8
"""How long a recall waits for a server or a model that is being loaded: a hook has 1.5 s for everything."""
LONGEST_QUERY = 4000
"""Characters of a prompt that are embedded; models read no further."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Near:
    """The nearest memories, nearest first, and the cosine of any memory that has vectors.

    `degraded` says in one sentence why there is nothing although there should be.
    """

    ranked: tuple[Close, ...] = ()
    profile: Profile | None = None
    degraded: str | None = None
    _scored: Scored | None = field(default=None, repr=False)

    def of(self, ids: Collection[int]) -> dict[int, Close]:
        return self._scored.of(ids) if self._scored and ids else {}


def find(queryset: MemoryQuerySet, query: str, *, scope: str, places: Collection[Place], superseded: bool) -> Near:
    """The nearest memories of a queryset of one scope, narrowed to `places` (none: all of it).

    With `superseded`, the queryset may hold memories that are.
    """
    embedder = embedders.current()
    if embedder is None:
        return Near()
    try:
        asked = embedder.query(query[:LONGEST_QUERY], patience=PATIENCE_SECONDS)
        matrix = vectors.matrix(embedder.identity, asked.shape[1])
    except EmbeddingFailed as error:
        logger.debug("Recall by keywords only: %s", error)  # the embedder has said why, once
        return Near(degraded=str(error))
    scored = matrix.score(asked)
    profile = embedder.profile
    least = config().recall_min_cosine
    best = scored.best(
        places or matrix.places(scope),
        superseded=superseded,
        floor=profile.floor if least is None else least,
        limit=CANDIDATES,
        accept=lambda ids: search.among(queryset, ids),
    )
    return Near(tuple(best), profile, None, scored)
