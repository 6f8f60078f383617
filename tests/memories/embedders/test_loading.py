"""A model that is not there, is broken, or takes long: everything goes on by keywords, and says why."""

import os
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from memories import embedders, listing
from memories.embedders import EmbeddingFailed
from memories.embedders.llama import LlamaEmbedder
from memories.models import Memory
from memories.recall import Question, recall
from memories.remember import Draft, remember
from tests.memories.embedders import fakes
from tests.service import until

type Made = Callable[..., LlamaEmbedder]
SENTENCE = "The owl sleeps in the barn."


def failed(embedder: LlamaEmbedder) -> str:
    with pytest.raises(EmbeddingFailed) as caught:
        embedder.documents(["text"], patience=20)
    assert embedder.state == "failed"
    return str(caught.value)


def goes_on_by_words(reason: str) -> None:
    """A text is kept and found by its words, and the answer says what is missing."""
    kept = remember(Draft(content=SENTENCE))
    assert (kept.status, kept.vector) == ("created", "pending")
    answer = recall(Question(query="owl barn", mode="search"))
    assert [item.memory.content for item in answer.items] == [SENTENCE]
    assert answer.degraded == reason


@pytest.fixture
def gguf(tmp_path: Path) -> Path:
    path = tmp_path / "fake.gguf"
    path.write_bytes(b"GGUF")
    return path


@pytest.mark.django_db
def test_a_missing_file(made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fakes.install(monkeypatch)
    embedder = made(tmp_path / "gone.gguf")
    reason = failed(embedder)
    assert str(tmp_path / "gone.gguf") in reason
    goes_on_by_words(reason)
    assert listing.stats().vectors == listing.VectorCounts(0, 1, 0)


@pytest.mark.django_db
@pytest.mark.usefixtures("minilm_path")
@pytest.mark.parametrize("head", [b"", b"GGUF"])
def test_a_broken_file(made: Made, tmp_path: Path, head: bytes) -> None:
    path = tmp_path / "broken.gguf"
    path.write_bytes(head + os.urandom(4096))
    reason = failed(made(path))
    assert reason.startswith("The embedding model broken.gguf cannot be loaded")
    goes_on_by_words(reason)


@pytest.mark.django_db
def test_half_a_file(made: Made, minilm_path: Path, tmp_path: Path) -> None:
    path = tmp_path / "half.gguf"
    path.write_bytes(minilm_path.read_bytes()[: 12 * 1024 * 1024])
    goes_on_by_words(failed(made(path)))


@pytest.mark.django_db
def test_no_llama_cpp_installed(made: Made, gguf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "llama_cpp", None)
    reason = failed(made(gguf))
    assert "memsite[embed]" in reason
    goes_on_by_words(reason)


@pytest.mark.django_db
def test_a_model_that_loads_slowly_is_loaded_once_and_nobody_waits(
    made: Made, gguf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = fakes.Gate()
    fake = fakes.install(monkeypatch, open=gate.wait)
    monkeypatch.setattr("memories.embedding.PATIENCE_SECONDS", 0.05)
    monkeypatch.setattr("memories.search.meaning.PATIENCE_SECONDS", 0.05)
    embedder = made(gguf)
    assert embedders.describe().state == "loading"
    goes_on_by_words("The embedding model is being loaded.")

    def ask(_: int) -> str:
        with pytest.raises(EmbeddingFailed) as caught:
            embedder.query("text", patience=0.05)
        return str(caught.value)

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(ask, range(16))) == {"The embedding model is being loaded."}
    assert [one.name for one in threading.enumerate()].count("load-model") == 1
    assert embedders.describe().state == "loading"
    gate.open()
    assert embedder.query("text", patience=20).shape == (1, 2)
    assert embedders.describe().state == "ready"
    assert fake.opened == [0]
    until(lambda: "load-model" not in [one.name for one in threading.enumerate()])


def test_those_who_come_one_after_the_other_do_not_each_wait_for_the_model(
    made: Made, gguf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = fakes.Gate()
    fakes.install(monkeypatch, open=gate.wait)
    embedder = made(gguf)
    begun = time.monotonic()
    for _ in range(10):
        with pytest.raises(EmbeddingFailed):
            embedder.documents(["text"], patience=1)
    assert 1 <= time.monotonic() - begun < 5
    gate.open()
    until(lambda: embedder.state == "ready")


def test_who_waits_gets_the_vectors_as_soon_as_the_model_is_there(
    made: Made, gguf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fakes.install(monkeypatch, open=lambda _: time.sleep(0.1))
    embedder = made(gguf)
    with ThreadPoolExecutor(8) as pool:
        rows = list(pool.map(lambda text: embedder.documents([text], patience=20), "abcdefgh"))
    assert [row.shape for row in rows] == [(1, 2)] * 8


WRONG: dict[str, Callable[[int, list[str]], object]] = {
    "not a number": lambda _, texts: [[float("nan"), 1.0] for _ in texts],
    "infinite": lambda _, texts: [[float("inf"), 1.0] for _ in texts],
    "zero": lambda _, texts: [[0.0, 0.0] for _ in texts],
    "one row too few": lambda _, texts: [[1.0, 2.0] for _ in texts[1:]],
    "one row too many": lambda _, texts: [[1.0, 2.0] for _ in [*texts, ""]],
    "a row for each token": lambda _, texts: [[[1.0, 2.0], [1.0, 2.0]] for _ in texts],
    "no dimension": lambda _, texts: [[] for _ in texts],
    "rows of unequal length": lambda _, texts: [[1.0] * (3 + at) for at, _ in enumerate([*texts, ""])],
    "no rows": lambda _, texts: None,
}


@pytest.mark.django_db
@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_answer_of_the_model_is_no_vector(
    made: Made, gguf: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    fake = fakes.install(monkeypatch)
    embedder = made(gguf)
    embedder.documents(["probe"], patience=20)
    fake.rows = staticmethod(WRONG[name])
    with pytest.raises(EmbeddingFailed) as caught:
        embedder.documents(["text"], patience=1)
    kept = remember(Draft(content=SENTENCE))
    assert (kept.status, kept.vector) == ("created", "pending")
    assert not Memory.objects.get().passages.exists()
    answer = recall(Question(query="owl barn", mode="search"))
    assert len(answer.items) == 1
    assert (answer.degraded or "").split()[:3] == str(caught.value).split()[:3]


@pytest.mark.django_db
def test_a_model_that_fails_while_it_embeds(made: Made, gguf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = fakes.install(monkeypatch)
    embedder = made(gguf)
    embedder.documents(["probe"], patience=20)

    def fail(_: int, texts: list[str]) -> None:
        raise RuntimeError(f"llama_decode returned -1 for {len(texts)}")

    fake.rows = staticmethod(fail)
    goes_on_by_words("The embedding model failed: llama_decode returned -1 for 1.")
    fake.rows = fakes.FakeLlama.rows
    assert remember(Draft(content="The fox runs.")).vector == "stored"


def test_a_model_found_beside_the_database(configure: Callable[..., None], tmp_path: Path, minilm_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "found.gguf").symlink_to(minilm_path)
    configure(db_path=tmp_path / "memory.db", model_path=None)
    embedder = embedders.current()
    assert embedder is not None
    assert embedder.documents(["text"], patience=60).shape == (1, 384)
    assert np.isfinite(embedder.query("text", patience=1)).all()


def test_a_prompt_does_not_wait_for_a_model_that_is_busy(
    made: Made, gguf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    free, entered = threading.Event(), threading.Event()

    def rows(_layers: int, texts: list[str]) -> list[list[float]]:
        if texts == ["long work"]:
            entered.set()
            free.wait(30)
        return [[1.0, 2.0] for _ in texts]

    fakes.install(monkeypatch, rows=rows)
    embedder = made(gguf)
    embedder.documents(["probe"], patience=30)
    with ThreadPoolExecutor(1) as pool:
        working = pool.submit(embedder.documents, ["long work"], patience=30)
        assert entered.wait(30)
        with pytest.raises(EmbeddingFailed, match="busy"):
            embedder.query("a prompt", patience=0.05)
        free.set()
        assert working.result(30).shape == (1, 2)
    assert embedder.query("a prompt", patience=5).shape == (1, 2)
