"""Stand-ins for models: one whose words are known, and llama-cpp-python as it is on a machine with a GPU."""

import re
import sys
import threading
import zlib
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from memories import embedders
from memories.embedders import Embedder, EmbeddingFailed, Vectors
from memories.embedders.base import State, normalised
from memories.embedders.profiles import Profile

PROFILE = Profile("words", re.compile("words"), floor=0.5, unrelated=0.0, related=1.0, calibrated=True)


class Words:
    """A text is the sum of its words, each a direction of its own; synonyms share one."""

    device = None
    profile = PROFILE
    state: State = "ready"

    def __init__(self, name: str = "words", *, dimension: int = 32, same: Mapping[str, str] | None = None) -> None:
        self.name, self.dimension, self.same = name, dimension, dict(same or {})
        self.failure = ""
        self.poison = ""
        self.asked: list[str] = []

    @property
    def identity(self) -> str:
        return f"{self.name}:{self.dimension}"

    def documents(self, texts: Sequence[str], *, patience: float) -> Vectors:
        if self.failure or (self.poison and any(self.poison in text for text in texts)):
            raise EmbeddingFailed(self.failure or "The text is poison.")
        self.asked += texts
        return normalised([self._sum(text) for text in texts], expected=len(texts))

    def query(self, text: str, *, patience: float) -> Vectors:
        return self.documents([text], patience=patience)

    def _sum(self, text: str) -> Any:
        words = re.findall(r"\w+", text.casefold()) or [text]
        return np.sum([self._direction(self.same.get(word, word)) for word in words], axis=0)

    def _direction(self, word: str) -> Any:
        return np.random.default_rng(zlib.crc32(f"{self.name} {word}".encode())).normal(size=self.dimension)


def use(monkeypatch: pytest.MonkeyPatch, embedder: Embedder | None) -> None:
    monkeypatch.setattr(embedders, "current", lambda: embedder)


class FakeLlama:
    """What the embedder uses of llama_cpp.Llama. Set the class attributes of a subclass to break it."""

    opened: list[int]
    """The layers on a GPU of every model that was opened for embedding, in order."""
    metadata = {"general.name": "fake", "general.architecture": "bert", "bert.context_length": "64"}  # noqa: RUF012
    open: Callable[[int], None] = staticmethod(lambda layers: None)
    rows: Callable[[int, list[str]], Any] = staticmethod(lambda layers, texts: [[1.0, 2.0] for _ in texts])

    def __init__(self, *, vocab_only: bool = False, n_gpu_layers: int = 0, **_options: Any) -> None:
        self.layers = n_gpu_layers
        if not vocab_only:
            self.opened.append(n_gpu_layers)
            type(self).open(n_gpu_layers)

    def embed(self, texts: list[str], **_options: Any) -> Any:
        return type(self).rows(self.layers, texts)

    def n_embd(self) -> int:
        return 2


def install(monkeypatch: pytest.MonkeyPatch, **attributes: Any) -> type[FakeLlama]:
    """Make `import llama_cpp` give a fake of one's own."""
    kept = {name: staticmethod(one) if callable(one) else one for name, one in attributes.items()}
    fake = type("Fake", (FakeLlama,), {"opened": [], **kept})
    module = ModuleType("llama_cpp")
    module.Llama = fake  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "llama_cpp", module)
    return fake


class Gate:
    """Something slow that a test lets go on."""

    def __init__(self) -> None:
        self._open = threading.Event()

    def wait(self, *_: object) -> None:
        assert self._open.wait(20), "nobody opened the gate"

    def open(self) -> None:
        self._open.set()
