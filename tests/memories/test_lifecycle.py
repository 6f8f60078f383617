"""Forgetting and restoring."""

from collections.abc import Callable
from datetime import datetime

import pytest

from memories import lifecycle, listing
from memories.errors import NotFound, Rejected
from memories.lifecycle import Selection
from memories.listing import Filters
from memories.models import AuditEntry, Memory, Reason
from memories.recall import Question, recall
from memories.truth.chains import chain_of
from telemetry import injections
from tests.memories.conftest import Versions, found

pytestmark = pytest.mark.django_db
NOON = "2026-03-29T12:00:00+00:00"


def actions(uid: str) -> list[str]:
    return [entry.action for entry in AuditEntry.objects.filter(memory_uid=uid).order_by("pk")]


def test_what_is_forgotten_is_in_no_answer(remembered: Callable[..., Memory]) -> None:
    memory = remembered("the parrot sleeps")

    assert lifecycle.forget(memory.uid, actor="ada").uids == (memory.uid,)

    for query in ("parrot sleeps", "arro", "sleeping"):
        assert found(query) == []
        assert found(query, as_of="9999-01-01") == []
        assert not recall(Question(query=query)).items
    for state in ("live", "superseded", "all"):
        assert listing.page(Filters(scope="default", state=state)).total == 0
    with pytest.raises(NotFound):
        lifecycle.find(memory.uid)
    assert injections.report(injections.Report(scope="default", uids=[memory.uid])) == 0
    assert actions(memory.uid) == ["store", "forget"]


@pytest.mark.parametrize("uid", ["0" * 32, "", "\ud800", "%", "x" * 5000])
@pytest.mark.parametrize("what", ["forget", "restore"])
def test_forgetting_and_restoring_an_unknown_memory_is_a_problem(what: str, uid: str) -> None:
    with pytest.raises(NotFound):
        getattr(lifecycle, what)(uid, actor="ada")


@pytest.mark.parametrize("what", ["forget", "restore"])
def test_a_memory_of_another_scope_is_unknown(remembered: Callable[..., Memory], what: str) -> None:
    memory = remembered("the parrot sleeps", scope="team")
    if what == "restore":
        lifecycle.forget(memory.uid, actor="ada")

    with pytest.raises(NotFound):
        getattr(lifecycle, what)(memory.uid, actor="eve", scope="default")


def test_a_memory_is_forgotten_once(remembered: Callable[..., Memory]) -> None:
    memory = remembered("the parrot sleeps")
    lifecycle.forget(memory.uid, actor="ada")

    with pytest.raises(NotFound):
        lifecycle.forget(memory.uid, actor="ada")


def test_forgetting_leaves_the_versions_it_replaced(versions: Versions) -> None:
    first, second, third = versions

    lifecycle.forget(third.uid, actor="ada")

    assert set(Memory.objects.filter(deleted_at=None)) == {first, second}
    assert found("cap") == []


def test_forgetting_with_the_chain_takes_them_too(versions: Versions) -> None:
    _first, second, third = versions
    lifecycle.forget(second.uid, actor="ada")  # a gap in the chain hides nothing

    forgotten = lifecycle.forget(third.uid, actor="ada", chain=True)

    assert len(forgotten.uids) == 2
    assert not Memory.objects.filter(deleted_at=None).exists()


def test_forgetting_an_old_version_with_its_chain_leaves_what_replaced_it(versions: Versions) -> None:
    first, second, third = versions

    assert set(lifecycle.forget(second.uid, actor="ada", chain=True).uids) == {first.uid, second.uid}

    assert found("cap") == [third.content]


def test_forgetting_by_filter_takes_what_matches_all(remembered: Callable[..., Memory]) -> None:
    remembered("one", kind="decision", project="acme/shop", tags=["old"])
    remembered("two", kind="decision", project="acme/shop", tags=["older"])
    remembered("three", kind="decision", project="acme/web", tags=["old"])
    remembered("four", kind="fact", project="acme/shop", tags=["old"])

    selection = Selection(kind="decision", project="acme/shop", tag="old")
    lifecycle.forget_all(selection.memories(), actor="ada")

    assert [one.content for one in Memory.objects.forgotten()] == ["one"]


def test_forgetting_by_date_goes_by_the_start(remembered: Callable[..., Memory]) -> None:
    remembered("old", valid_from="2026-01-31T23:59:59Z")
    remembered("new", valid_from="2026-02-01")

    lifecycle.forget_all(Selection(before="2026-02-01").memories(), actor="ada")

    assert [one.content for one in Memory.objects.forgotten()] == ["old"]


@pytest.mark.parametrize("selection", [{}, {"kind": "foo"}, {"tier": "foo"}, {"source": "foo"}, {"before": "soon"}])
def test_a_filter_that_says_nothing_forgets_nothing(
    remembered: Callable[..., Memory], selection: dict[str, str]
) -> None:
    remembered("one")

    with pytest.raises(Rejected):
        Selection(**selection).memories()


def test_a_restored_memory_is_back_in_every_answer(remembered: Callable[..., Memory]) -> None:
    memory = remembered("the parrot sleeps")
    lifecycle.forget(memory.uid, actor="ada")

    restored = lifecycle.restore(memory.uid, actor="ada")

    assert (restored.uid, restored.merged_into) == (memory.uid, None)
    assert found("parrot") == ["the parrot sleeps"]
    assert actions(memory.uid) == ["store", "forget", "restore"]


def test_only_what_is_forgotten_can_be_restored(remembered: Callable[..., Memory]) -> None:
    memory = remembered("the parrot sleeps")

    with pytest.raises(NotFound):
        lifecycle.restore(memory.uid, actor="ada")


def test_restoring_over_a_living_twin_makes_the_two_one(remembered: Callable[..., Memory]) -> None:
    gone = remembered("the parrot sleeps", kind="decision", tags=["zoo"], pinned=True)
    lifecycle.forget(gone.uid, actor="ada")
    twin = remembered("the parrot sleeps", tags=["bird"])

    restored = lifecycle.restore(gone.uid, actor="ada")

    gone.refresh_from_db()
    twin.refresh_from_db()
    assert restored.merged_into == twin.uid
    assert (gone.deleted_at, gone.superseded_by, gone.superseded_reason) == (None, twin, Reason.MERGE)
    assert gone.valid_to == max(twin.valid_from, gone.valid_from)
    assert (twin.tags, twin.pinned) == (["bird", "zoo"], True)
    assert found("parrot") == ["the parrot sleeps"]
    assert chain_of(twin) == [gone, twin]


def test_restoring_over_an_expired_twin_closes_it(
    remembered: Callable[..., Memory], freeze: Callable[[str], datetime]
) -> None:
    freeze(NOON)
    gone = remembered("the parrot sleeps")
    lifecycle.forget(gone.uid, actor="ada")
    twin = remembered("the parrot sleeps", ttl_seconds=60)
    freeze("2026-03-29T13:00:00+00:00")

    assert lifecycle.restore(gone.uid, actor="ada").merged_into is None

    twin.refresh_from_db()
    assert twin.valid_to == twin.expires_at
    assert [one.uid for one in Memory.objects.live()] == [gone.uid]


def test_a_restored_version_is_history_again(versions: Versions) -> None:
    first, _second, third = versions
    lifecycle.forget(first.uid, actor="ada")

    lifecycle.restore(first.uid, actor="ada")

    assert found("cap") == [third.content]
    assert chain_of(third) == list(versions)
