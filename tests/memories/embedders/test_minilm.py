"""A real model: all-MiniLM-L6-v2 through llama.cpp."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from memories import lifecycle
from memories.embedders.llama import BATCH, LlamaEmbedder
from memories.recall import Question, recall
from memories.remember import Draft, remember

TEXTS = [f"Sentence {number} is about topic {number % 7} and thing {number**2}." for number in range(BATCH + 8)]
RELATED = [
    ("How do we charge customers?", "Payments go through the Stripe checkout.", "The cat sleeps on the red sofa."),
    ("car repair", "The mechanic fixed the engine of my automobile.", "Tabs indent every Go file."),
    ("where are user accounts stored", "Postgres holds the table of users.", "Lunch is at noon on Fridays."),
]


def test_rows_are_unit_vectors_of_its_dimension(minilm: LlamaEmbedder) -> None:
    rows = minilm.documents(TEXTS[:5], patience=1)
    assert rows.shape == (5, 384)
    assert rows.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    assert minilm.query("one", patience=1).shape == (1, 384)


def test_a_batch_gives_what_single_texts_give(minilm: LlamaEmbedder) -> None:
    together = minilm.documents(TEXTS, patience=1)
    alone = np.concatenate([minilm.documents([text], patience=1) for text in TEXTS])
    assert (together * alone).sum(axis=1).min() > 0.999


@pytest.mark.parametrize(("query", "near", "far"), RELATED)
def test_related_text_is_nearer_than_unrelated(minilm: LlamaEmbedder, query: str, near: str, far: str) -> None:
    nearest, furthest = minilm.documents([near, far], patience=1) @ minilm.query(query, patience=1)[0]
    assert nearest > furthest + 0.1
    assert nearest >= minilm.profile.floor > furthest


def test_a_text_longer_than_the_context_has_a_vector(minilm: LlamaEmbedder) -> None:
    rows = minilm.documents(["word " * 5000, "short"], patience=1)
    assert np.isfinite(rows).all()


@pytest.mark.parametrize("text", [" ", "\n\n", "日本語のテキスト", "🦉", "\x00", "e\u0301" * 50])
def test_any_text_has_a_vector(minilm: LlamaEmbedder, text: str) -> None:
    assert np.linalg.norm(minilm.documents([text], patience=1)) == pytest.approx(1, abs=1e-5)


def test_several_threads_get_the_vectors_of_their_own_texts(minilm: LlamaEmbedder) -> None:
    alone = [minilm.documents([text], patience=1)[0] for text in TEXTS[:16]]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda text: minilm.documents([text], patience=5)[0], TEXTS[:16] * 2))
    assert min(float(one @ other) for one, other in zip(found, alone * 2, strict=True)) > 0.9999


def test_a_query_is_embedded_once(minilm: LlamaEmbedder, monkeypatch: pytest.MonkeyPatch) -> None:
    first = minilm.query("asked twice", patience=1)
    monkeypatch.setattr(minilm, "_model", None)
    np.testing.assert_array_equal(minilm.query("asked twice", patience=1), first)


def test_what_it_says_of_itself(minilm: LlamaEmbedder) -> None:
    assert minilm.state == "ready"
    assert minilm.device == "cpu"
    assert minilm.profile.name == "minilm"
    assert minilm.identity.startswith("all-MiniLM-L6-v2:")
    assert minilm.identity.endswith(":384")


@pytest.mark.django_db
@pytest.mark.usefixtures("with_minilm")
def test_the_last_line_of_a_huge_memory_is_found_by_meaning_once_it_is_embedded() -> None:
    fact = "Payments go through the Stripe checkout."
    question = Question(query="How do we charge customers?", mode="search")
    signs = "".join(f"{'ꙮ' * 380} {number}.\n" for number in range(530))  # no words of the model: quick to embed
    kept = remember(Draft(content=signs + fact))
    assert (kept.status, kept.vector) == ("created", "pending")
    assert recall(question).items == ()
    assert lifecycle.backfill() == lifecycle.Backfilled(1, 0)
    (item,) = recall(question).items
    assert len(item.memory.content) > 200_000
    assert fact in item.excerpt
    assert len(item.excerpt) < 600


@pytest.mark.django_db
@pytest.mark.usefixtures("with_minilm")
@pytest.mark.parametrize(("query", "near", "far"), RELATED)
def test_what_is_stored_is_recalled_by_a_paraphrase(query: str, near: str, far: str) -> None:
    for text in (near, far):
        assert remember(Draft(content=text)).vector == "stored"
    assert [item.memory.content for item in recall(Question(query=query, mode="search")).items][:1] == [near]
