"""The models that `tests/models/make.py` makes, and no trace of another test's model."""

import importlib.util
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from memories import embedders
from memories.embedders.llama import LlamaEmbedder
from memories.search import vectors
from tests.requirements import need

NO_MODELS = "needs llama-cpp-python and the models: export MEMSITE_MODELS=$(.ci/models)"
LOAD_SECONDS = 60.0


def model(name: str) -> Path:
    """A file of `.ci/models`. Without it, or without llama-cpp-python, the test is skipped."""
    folder = os.environ.get("MEMSITE_MODELS", "")
    path = Path(folder) / name
    need(folder and path.exists() and importlib.util.find_spec("llama_cpp"), NO_MODELS)
    return path


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """No model and no matrix of another test: the numbers of rows begin anew in each."""
    monkeypatch.setattr(embedders, "_made", None)
    monkeypatch.setattr(vectors, "_matrices", {})


@pytest.fixture(scope="session")
def minilm_path() -> Path:
    return model("all-MiniLM-L6-v2.Q8_0.gguf")


@pytest.fixture(scope="session")
def qwen3_path() -> Path:
    return model("tiny-qwen3.gguf")


def loaded(path: Path) -> LlamaEmbedder:
    embedder = LlamaEmbedder(path)
    embedder.documents(["probe"], patience=LOAD_SECONDS)
    return embedder


@pytest.fixture(scope="session")
def minilm(minilm_path: Path) -> LlamaEmbedder:
    return loaded(minilm_path)


@pytest.fixture(scope="session")
def qwen3(qwen3_path: Path) -> LlamaEmbedder:
    return loaded(qwen3_path)


@pytest.fixture
def with_minilm(minilm: LlamaEmbedder, monkeypatch: pytest.MonkeyPatch) -> LlamaEmbedder:
    """MiniLM is the model in use."""
    monkeypatch.setattr(embedders, "current", lambda: minilm)
    return minilm


@pytest.fixture
def made(configure: Callable[..., None]) -> Callable[..., LlamaEmbedder]:
    """The embedder that the settings make of a file, as the product does."""

    def make(path: Path, **settings: str) -> LlamaEmbedder:
        configure(model_path=path, **settings)
        embedder = embedders.current()
        assert isinstance(embedder, LlamaEmbedder)
        return embedder

    return make
