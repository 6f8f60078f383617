"""Forgetting what a summary was made of: the summary is made anew without it, at once."""

from collections.abc import Callable
from typing import Any

import pytest

from memories import lifecycle
from memories.lifecycle import Selection
from memories.models import Memory
from memories.remember import Draft, remember
from memories.truth import consolidation
from memories.truth.chains import chain_of
from tests.memories.conftest import found

type Remembered = Callable[..., Memory]

TEXTS = (
    "The nightly deploy of the shop runs from the release branch.",
    "The nightly deploy of the shop runs from the release branch, says Ada.",
    "As Bo says, the nightly deploy of the shop runs from the release branch.",
)


@pytest.fixture
def originals(remembered: Remembered) -> list[Memory]:
    return [remembered(text, tags=[f"t{at}"]) for at, text in enumerate(TEXTS)]


@pytest.fixture
def summary(originals: list[Memory]) -> Memory:
    (cluster,) = consolidation.consolidate(actor="ada").clusters
    assert len(cluster.uids) == 3
    return Memory.objects.get(uid=cluster.uid)


def forget(*memories: Memory) -> tuple[str, ...]:
    return tuple(uid for one in memories for uid in lifecycle.forget(one.uid, actor="ada").uids)


def live() -> list[Memory]:
    return list(Memory.objects.live().oldest_first())


def visible(**fields: Any) -> set[str]:
    return set(Memory.objects.filter(deleted_at=None, **fields).values_list("content", flat=True))


def test_the_summary_is_made_anew_without_it(originals: list[Memory], summary: Memory) -> None:
    assert set(forget(originals[1])) == {originals[1].uid, summary.uid}
    (heir,) = live()
    assert heir.content == f"{TEXTS[0]}\n{TEXTS[2]}"
    assert heir.tags == ["t0", "t2"]
    assert (heir.run, heir.tier, heir.source) == (summary.run, "semantic", "consolidation")
    assert found("nightly deploy Ada") == [heir.content]
    assert not any("Ada" in text for text in visible())
    assert {one.superseded_by_id for one in Memory.objects.superseded()} == {heir.pk}


def test_purge_removes_the_forgotten_words(originals: list[Memory], summary: Memory) -> None:
    forget(originals[1])
    lifecycle.purge(actor="ada")
    assert not Memory.objects.filter(content__contains="Ada").exists()
    assert Memory.objects.count() == 3
    assert Memory.objects.superseded().filter(superseded_by=live()[0]).count() == 2


def test_undo_still_brings_back_the_rest(originals: list[Memory], summary: Memory) -> None:
    forget(originals[1])
    undone = consolidation.undo(summary.run, actor="ada")
    assert sorted(undone.restored) == sorted((originals[0].uid, originals[2].uid))
    assert {one.content for one in live()} == {TEXTS[0], TEXTS[2]}


def test_the_last_one_lives_again_as_it_was(originals: list[Memory], summary: Memory) -> None:
    before = Memory.objects.filter(pk=originals[2].pk).values().get()
    forget(originals[0], originals[1])
    (left,) = live()
    assert left.pk == originals[2].pk
    after = Memory.objects.filter(pk=left.pk).values().get()
    assert after == before | {"valid_to": None, "superseded_by_id": None, "superseded_reason": ""}
    assert visible() == {TEXTS[2]}


def test_with_all_of_them_the_summary_is_forgotten(originals: list[Memory], summary: Memory) -> None:
    forget(*originals)
    assert visible() == set()


def test_forgetting_by_filter_takes_the_summary_only_as_far_as_it_matches(
    originals: list[Memory], summary: Memory
) -> None:
    lifecycle.forget_all(Selection(tag="t0").memories(), actor="ada")
    # The summary carries the tag too.
    assert live() == []
    lifecycle.restore(summary.uid, actor="ada")
    lifecycle.forget_all(Selection(tier="episodic").memories(), actor="ada")
    assert visible() == set()


@pytest.mark.parametrize("batch", [1, 2, 500])
def test_forgetting_a_project_leaves_nothing_of_it(
    originals: list[Memory], summary: Memory, monkeypatch: pytest.MonkeyPatch, batch: int
) -> None:
    monkeypatch.setattr(lifecycle, "BATCH", batch)
    lifecycle.forget_all(Selection(project="").memories(), actor="ada")
    assert visible() == set()


def test_a_forgotten_original_that_is_restored_lives(originals: list[Memory], summary: Memory) -> None:
    forget(originals[1])
    lifecycle.restore(originals[1].uid, actor="ada")
    assert TEXTS[1] in {one.content for one in live()}


def test_a_summary_that_was_superseded_is_made_anew_where_it_stood(originals: list[Memory], summary: Memory) -> None:
    newer = remember(Draft(content="We deploy by hand.", supersedes=[summary.uid]))
    forget(originals[1])
    assert not any("Ada" in text for text in visible())
    chain = chain_of(Memory.objects.get(uid=newer.uid))
    assert [one.content for one in chain if one.tier == "semantic"] == [f"{TEXTS[0]}\n{TEXTS[2]}"]
    assert [one.content for one in live()] == ["We deploy by hand."]


def test_what_the_summary_itself_superseded_follows_its_heir(originals: list[Memory], summary: Memory) -> None:
    older = remember(Draft(content="Deploys need a person.", valid_from="2025-01-01")).uid
    Memory.objects.filter(uid=older).update(
        valid_to=summary.valid_from, superseded_by=summary, superseded_reason="conflict"
    )
    forget(originals[1])
    heir = live()[0]
    assert Memory.objects.get(uid=older).superseded_by_id == heir.pk
    forget(originals[0])
    assert Memory.objects.get(uid=older).superseded_by_id == originals[2].pk


def test_a_pin_of_the_summary_stays(originals: list[Memory], summary: Memory) -> None:
    Memory.objects.filter(pk=summary.pk).update(pinned=True)
    forget(originals[1])
    assert live()[0].pinned
