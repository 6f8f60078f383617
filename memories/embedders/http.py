"""Embeddings of an OpenAI-compatible server (OpenAI, Ollama, llama-server). Used only where MEMORY_EMBED_URL is set."""

import threading
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from memories.embedders.base import EmbeddingFailed, State, Vectors, normalised
from memories.embedders.profiles import Profile, profile_of

BATCH = 64
TIMEOUT_SECONDS = 10.0
RETRIES = 2
QUERIES_KEPT = 512
NO_KEY = "none"
"""Local servers want some key; a key of the environment that was meant for others is never sent."""


class HttpEmbedder:
    """One model of one server. The dimension is that of its first answer; another one later is refused."""

    def __init__(self, url: str, *, model: str, api_key: str = "") -> None:
        self._url, self._model, self._key = url, model, api_key
        self._profile = profile_of(model)
        self._dimension = 0
        self._failed = False
        self._lock = threading.Lock()
        self._client: Any = None
        self._kept = lru_cache(maxsize=QUERIES_KEPT)(self._embed_query)

    @property
    def name(self) -> str:
        return self._model

    @property
    def identity(self) -> str:
        if not self._dimension:
            self._embed(["probe"], TIMEOUT_SECONDS)
        return f"{self._model}:{self._dimension}"

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
        del patience  # of the first who asks: an answer is kept
        return self._kept(text)

    def _embed_query(self, text: str) -> Vectors:
        return self._embed([self._profile.query_prefix + text], TIMEOUT_SECONDS)

    def _embed(self, texts: list[str], patience: float) -> Vectors:
        try:
            answer = self._connected().embeddings.create(
                model=self._model, input=texts, encoding_format="float", timeout=min(patience, TIMEOUT_SECONDS)
            )
            rows = [row.embedding for row in sorted(answer.data, key=lambda row: row.index)]
        except EmbeddingFailed:
            raise
        except Exception as error:
            self._failed = True
            raise EmbeddingFailed(f"The embedding server {self._url} failed: {type(error).__name__}.") from error
        vectors = normalised(rows, expected=len(texts))
        if self._dimension not in (0, vectors.shape[1]):
            raise EmbeddingFailed(
                f"The embedding server now gives {vectors.shape[1]} dimensions instead of {self._dimension}."
            )
        self._dimension, self._failed = vectors.shape[1], False
        return vectors

    def _connected(self) -> Any:
        with self._lock:
            if self._client is None:
                try:
                    from openai import OpenAI  # noqa: PLC0415 - an extra
                except ImportError:
                    raise EmbeddingFailed(
                        "MEMORY_EMBED_URL needs the openai package: pip install 'memsite[remote]'."
                    ) from None
                self._client = OpenAI(base_url=self._url, api_key=self._key or NO_KEY, max_retries=RETRIES)
            return self._client
