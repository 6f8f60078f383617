"""Memories like a stored one, and what the vectors of the store are counted as."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from memories import embedders, lifecycle, listing
from memories.models import Memory, Passage
from memories.search import vectors
from memories.similar import similar
from tests.memories.embedders.fakes import Words, use

type Remembered = Callable[..., Memory]
SAME = {"charge": "pay", "customers": "buyers", "stripe": "paypal"}


@pytest.fixture
def words(monkeypatch: pytest.MonkeyPatch) -> Words:
    monkeypatch.setattr(embedders, "_made", None)
    monkeypatch.setattr(vectors, "_matrices", {})
    embedder = Words(dimension=128, same=SAME)
    use(monkeypatch, embedder)
    return embedder


def test_a_paraphrase_in_another_project_is_similar(words: Words, remembered: Remembered):
    memory = remembered("charge customers by stripe", project="acme/shop")
    other = remembered("pay buyers via paypal", project="acme/billing")
    remembered("the owl sleeps in a barn")
    (found,) = similar(memory)
    assert found.memory == other
    assert found.cosine
    assert found.cosine > 0.5
    assert found.coverage is None


def test_without_a_model_words_tell(remembered: Remembered):
    memory = remembered("the deploy key rotates every month", project="acme/shop")
    other = remembered("the deploy key rotates on Mondays")
    remembered("the owl sleeps in a barn")
    (found,) = similar(memory)
    assert (found.memory, found.cosine) == (other, None)


def test_what_is_forgotten_superseded_or_elsewhere_is_not_similar(remembered: Remembered):
    memory = remembered("the deploy key rotates every month")
    lifecycle.forget(remembered("the deploy key rotates every day").uid, actor="me")
    remembered("the deploy key rotates every week", scope="other")
    old = remembered("the deploy key rotates every year")
    new = remembered("the deploy key rotates every hour", supersedes=[old.uid])
    assert [one.memory for one in similar(memory)] == [new]


@pytest.mark.parametrize("has_model", [True, False])
def test_the_list_shows_as_many_as_each_count_of_vectors(
    admin_client: Client, words: Words, remembered: Remembered, monkeypatch: pytest.MonkeyPatch, *, has_model: bool
):
    for text in ("one", "two", "three", "four"):
        remembered(f"memory number {text}")
    ids = list(Memory.objects.order_by("pk").values_list("pk", flat=True))
    Passage.objects.filter(memory=ids[0]).update(model="another model")
    Passage.objects.filter(memory=ids[1]).delete()
    lifecycle.forget(Memory.objects.get(pk=ids[3]).uid, actor="me")
    if not has_model:
        use(monkeypatch, None)
    counts: dict[str, Any] = vars(listing.stats().vectors)
    assert counts == (
        {"stored": 1, "pending": 2, "foreign": 1} if has_model else {"stored": 0, "pending": 0, "foreign": 2}
    )
    for state, count in counts.items():
        rows = admin_client.get(f"/admin/memories/memory/?state=all&vectors={state}").context["cl"].result_list
        assert len(rows) == count, state
