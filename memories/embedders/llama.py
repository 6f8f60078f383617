"""A local GGUF model through llama-cpp-python: loaded at first use, once a process, in a thread of its own."""

import logging
import threading
import time
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from memories import gguf
from memories.embedders.base import EmbeddingFailed, State, Vectors, normalised
from memories.embedders.profiles import Profile, profile_of

BATCH = 8
"""Texts for which the model is taken: a prompt waits no longer than for one batch of a backfill."""
MOST_TOKENS = 2048
"""Of one text: passages are short, and a longer context costs memory for nothing."""
QUERIES_KEPT = 512
_POOLING = {"mean": 1, "cls": 2, "last": 3}
_FROM_METADATA = -1

logger = logging.getLogger(__name__)


class LlamaEmbedder:
    """A GGUF file. `device` "cuda" falls back to the CPU when the GPU is not really used."""

    def __init__(self, path: Path, *, device: str = "cpu") -> None:
        self._path, self._wanted = path, device
        self._lock = threading.Lock()
        self._loader: threading.Thread | None = None
        self._load_began = 0.0
        self._loaded = threading.Event()
        self._model: Any = None
        self._failure = ""
        self._device: str | None = None
        self._identity = ""
        self._profile = profile_of(path.stem)
        self._kept = lru_cache(maxsize=QUERIES_KEPT)(self._embed_query)

    @property
    def name(self) -> str:
        return self._path.stem

    @property
    def identity(self) -> str:
        return self._identity

    @property
    def profile(self) -> Profile:
        return self._profile

    @property
    def state(self) -> State:
        if self._failure:
            return "failed"
        return "ready" if self._loaded.is_set() else "loading"

    @property
    def device(self) -> str | None:
        return self._device

    def documents(self, texts: Sequence[str], *, patience: float) -> Vectors:
        self._wait(patience)
        prefix = self._profile.document_prefix
        batches = [texts[start : start + BATCH] for start in range(0, len(texts), BATCH)]
        return np.concatenate([self._embed([prefix + text for text in batch], patience) for batch in batches])

    def query(self, text: str, *, patience: float) -> Vectors:
        self._wait(patience)
        return self._kept(text, patience)

    def _embed_query(self, text: str, patience: float) -> Vectors:
        return self._embed([self._profile.query_prefix + text], patience)

    def _embed(self, texts: list[str], patience: float) -> Vectors:
        if not self._lock.acquire(timeout=patience):
            raise EmbeddingFailed("The embedding model is busy.")
        try:
            rows = self._rows(texts)
        except Exception as error:
            raise EmbeddingFailed(f"The embedding model failed: {error}.") from error
        finally:
            self._lock.release()
        return normalised(rows, expected=len(texts))

    def _rows(self, texts: list[str]) -> Any:
        """Once more on the CPU, for good, when the GPU fails."""
        try:
            return self._model.embed(texts, normalize=False, truncate=True)
        except Exception as error:
            if self._device == "cpu":
                raise
            logger.warning("The GPU failed, the embedding model goes on without it: %s", error)
            self._model = self._open("cpu")
            return self._model.embed(texts, normalize=False, truncate=True)

    def _wait(self, patience: float) -> None:
        """Until the model is there. Raises EmbeddingFailed when it cannot be, or is not in time."""
        if not self._loaded.is_set() and not self._failure:
            with self._lock:
                if self._loader is None:
                    self._loader = threading.Thread(target=self._load, name="load-model", daemon=True)
                    self._load_began = time.monotonic()
                    self._loader.start()
            # From the start of the loading: callers in a line do not each wait anew.
            self._loaded.wait(max(0.0, self._load_began + patience - time.monotonic()))
        if self._failure:
            raise EmbeddingFailed(self._failure)
        if not self._loaded.is_set():
            raise EmbeddingFailed("The embedding model is being loaded.")

    def _load(self) -> None:
        self._failure = self._try_to_load()
        if self._failure:
            logger.error("%s", self._failure)
        self._loaded.set()

    def _try_to_load(self) -> str:
        """Why there is no model, in one sentence; "" if there is one."""
        if not self._path.exists():
            return f"There is no embedding model {self._path}."
        try:
            self._model = self._open(self._wanted)
        except ImportError:
            return "MEMORY_MODEL_PATH needs llama-cpp-python: pip install 'memsite[embed]'."
        except Exception as error:  # noqa: BLE001 - whatever the file is
            return f"The embedding model {self._path.name} cannot be loaded: {error}."
        name = self._model.metadata.get("general.name") or self.name
        self._identity = f"{name}:{self._path.stat().st_size}:{self._model.n_embd()}"
        return ""

    def _open(self, device: str) -> Any:
        """The model on a device, tried with one text; on the CPU if a GPU does not really hold it."""
        metadata = gguf.metadata(self._path)
        from llama_cpp import Llama  # noqa: PLC0415 - an extra, and slow to import

        self._profile = profile_of(metadata.get("general.name", ""), self._path.stem)
        tokens = gguf.context_length(metadata, most=MOST_TOKENS)

        def open_on(layers: int) -> Any:
            model = Llama(
                model_path=str(self._path),
                embedding=True,
                pooling_type=_POOLING.get(self._profile.pooling, _FROM_METADATA),
                n_ctx=tokens,
                n_batch=tokens,
                n_ubatch=tokens,
                n_gpu_layers=layers,
                verbose=False,
            )
            model.embed(["probe"], normalize=False)
            return model

        model, self._device = gguf.on_device(device, open_on, what="the embedding model")
        return model
