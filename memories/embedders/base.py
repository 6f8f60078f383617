"""What an embedder is, and how its vectors look."""

from collections.abc import Sequence
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from memories.embedders.profiles import Profile
from memories.errors import StoreUnavailable

type Vectors = npt.NDArray[np.float32]
type State = Literal["off", "loading", "ready", "failed"]

SMALLEST_NORM = 1e-12


class EmbeddingFailed(StoreUnavailable):
    """A text has no vector now; the message says why, in one sentence."""

    code = "embedding_failed"


class Embedder(Protocol):
    """Makes vectors of texts: float32, L2-normalised rows. One for a process, safe to call from several threads."""

    @property
    def name(self) -> str: ...

    @property
    def identity(self) -> str:
        """Of the model: vectors are compared only with those of the same identity. "" until it first embedded."""

    @property
    def profile(self) -> Profile: ...

    @property
    def state(self) -> State: ...

    @property
    def device(self) -> str | None: ...

    def documents(self, texts: Sequence[str], *, patience: float) -> Vectors:
        """One row a text. Waits at most `patience` seconds for a model that is being loaded. Raises EmbeddingFailed."""

    def query(self, text: str, *, patience: float) -> Vectors:
        """One row, as the model wants queries. Raises EmbeddingFailed."""


def normalised(rows: Sequence[Sequence[float]] | Vectors, *, expected: int) -> Vectors:
    """Rows as unit vectors. Raises EmbeddingFailed for a missing row and for one that is no direction."""
    try:
        with np.errstate(over="ignore"):  # what is too large becomes infinite, and is refused below
            vectors = np.asarray(rows, dtype=np.float32)
    except (TypeError, ValueError):
        raise EmbeddingFailed("The embedding model gave what are no vectors.") from None
    if vectors.ndim != 2 or len(vectors) != expected or not vectors.shape[1]:
        raise EmbeddingFailed(f"The embedding model gave an array of shape {vectors.shape} for {expected} texts.")
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not np.isfinite(norms).all() or (norms < SMALLEST_NORM).any():
        raise EmbeddingFailed("The embedding model gave a vector that is zero or not a number.")
    unit: Vectors = vectors / norms
    return unit
