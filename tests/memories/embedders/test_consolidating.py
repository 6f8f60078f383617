"""Consolidation by what texts mean: with known vectors, and with MiniLM."""

from collections.abc import Callable

import pytest

from memories.embedders.llama import LlamaEmbedder
from memories.models import Memory, Passage
from memories.truth import consolidation
from tests.memories.embedders.fakes import Words, use

type Remembered = Callable[..., Memory]

AGAIN = (
    "Java services were killed in a loop because the liveness probe started before the JVM was warm. Use startupProbe.",
    "Seen again with a new Java service: restart loop, because liveness fired while the JVM was still warming up.",
)
OTHER = "Traffic enters the cluster through the Envoy gateway."


def uids(memories: list[Memory]) -> tuple[str, ...]:
    return tuple(one.uid for one in memories)


@pytest.mark.usefixtures("with_minilm")
def test_paraphrases_are_joined_by_meaning(remembered: Remembered) -> None:
    pair = [remembered(text) for text in AGAIN]
    remembered(OTHER)
    (cluster,) = consolidation.consolidate(actor="ada").clusters
    assert cluster.uids == uids(pair)
    assert all(text in cluster.text for text in AGAIN)
    assert Passage.objects.filter(memory__uid=cluster.uid).exists()
    assert consolidation.consolidate(actor="ada").clusters == ()


def test_without_a_model_paraphrases_stay_apart(remembered: Remembered) -> None:
    for text in AGAIN:
        remembered(text)
    assert consolidation.consolidate(actor="ada").clusters == ()


def test_a_model_that_fails_leaves_the_words_and_the_summary_pending(
    remembered: Remembered, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder = Words()
    use(monkeypatch, embedder)
    pair = [remembered(text) for text in ("deploy runs from release branch", "deploy runs from release branch usually")]
    embedder.failure = "down"
    (cluster,) = consolidation.consolidate(actor="ada").clusters
    assert cluster.uids == uids(pair)
    assert not Passage.objects.filter(memory__uid=cluster.uid).exists()


def test_near_texts_that_contradict_each_other_stay_apart(remembered: Remembered, with_minilm: LlamaEmbedder) -> None:
    one, two = "The upload job retries failed chunks.", "The upload job no longer retries failed chunks."
    rows = with_minilm.documents([one, two], patience=60)
    assert rows[0] @ rows[1] > 0.9
    remembered(one)
    remembered(two)
    assert consolidation.consolidate(actor="ada").clusters == ()
