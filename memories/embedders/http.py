"""Embeddings of an OpenAI-compatible server (OpenAI, Ollama, llama-server). Used only where MEMORY_EMBED_URL is set."""

import logging
import time
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from memories import remote
from memories.embedders.base import EmbeddingFailed, State, Vectors, normalised
from memories.embedders.profiles import Profile, profile_of

BATCH = 64
TIMEOUT_SECONDS = 10.0
RETRIES = 2
PAUSE_SECONDS = 0.2
QUIET_SECONDS = 30.0
"""After a failure, no prompt waits for the server for so long."""
QUERIES_KEPT = 512

logger = logging.getLogger(__name__)


class HttpEmbedder:
    """One model of one server. The dimension is that of its first answer; another one later is refused."""

    def __init__(self, url: str, *, model: str, api_key: str = "") -> None:
        self._url, self._model = url, model
        self._remote = remote.Remote(url, api_key=api_key)
        self._profile = profile_of(model)
        self._dimension = 0
        self._failed = False
        self._quiet_until = 0.0
        self._kept = lru_cache(maxsize=QUERIES_KEPT)(self._embed_query)

    @property
    def name(self) -> str:
        return self._model

    @property
    def identity(self) -> str:
        return f"{self._model}:{self._dimension}" if self._dimension else ""

    @property
    def profile(self) -> Profile:
        return self._profile

    @property
    def state(self) -> State:
        return "failed" if self._failed else "ready"

    @property
    def device(self) -> str | None:
        return None

    def documents(self, texts: Sequence[str], *, patience: float) -> Vectors:
        prefix = self._profile.document_prefix
        batches = [texts[start : start + BATCH] for start in range(0, len(texts), BATCH)]
        return np.concatenate([self._embed([prefix + text for text in batch], patience) for batch in batches])

    def query(self, text: str, *, patience: float) -> Vectors:
        return self._kept(text, patience)

    def _embed_query(self, text: str, patience: float) -> Vectors:
        if time.monotonic() < self._quiet_until:
            raise EmbeddingFailed(f"The embedding server {self._url} failed a moment ago.")
        return self._embed([self._profile.query_prefix + text], patience)

    def _embed(self, texts: list[str], patience: float) -> Vectors:
        client = self._connected()
        deadline = time.monotonic() + patience
        for tries in range(RETRIES, -1, -1):
            left = max(0.01, deadline - time.monotonic())
            try:
                answer = client.embeddings.create(
                    model=self._model, input=texts, encoding_format="float", timeout=min(left, TIMEOUT_SECONDS)
                )
                rows = [row.embedding for row in sorted(answer.data, key=lambda row: row.index)]
                break
            except Exception as error:
                refused = 400 <= remote.status_of(error) < 500
                if refused or not tries or time.monotonic() + PAUSE_SECONDS > deadline:
                    sentence = f"The embedding server {self._url} failed: {remote.blame(error)}."
                    if not self._failed:
                        logger.warning("%s", sentence)
                    self._failed = True
                    if not refused:
                        self._quiet_until = time.monotonic() + QUIET_SECONDS
                    raise EmbeddingFailed(sentence) from error
                time.sleep(PAUSE_SECONDS)
        vectors = normalised(rows, expected=len(texts))
        if self._dimension not in (0, vectors.shape[1]):
            raise EmbeddingFailed(
                f"The embedding server now gives {vectors.shape[1]} dimensions instead of {self._dimension}."
            )
        self._dimension, self._failed = vectors.shape[1], False
        return vectors

    def _connected(self) -> Any:
        try:
            return self._remote.client()
        except ImportError:
            raise EmbeddingFailed("MEMORY_EMBED_URL needs the openai package: pip install 'memsite[remote]'.") from None
