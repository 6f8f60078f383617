"""What a memory ended as contradicting it stays ended when that memory is forgotten, and can be restored then."""

from collections.abc import Callable

import pytest

from memories import lifecycle
from memories.errors import NotFound
from memories.models import AuditEntry, Conflict, Memory
from memories.remember import Draft, remember
from memories.truth import conflicts
from tests.memories.conftest import found

pytestmark = pytest.mark.django_db

OLD, NEW = "The session store is Redis", "The session store moved from Redis to Postgres"


@pytest.fixture
def ended(remembered: Callable[..., Memory]) -> tuple[Memory, Memory]:
    """The older memory of a confirmed pair and the newer one, which is forgotten."""
    older, newer = remembered(OLD), remembered(NEW)
    conflicts.settle(Conflict.objects.get().pk, "confirmed", actor="ada")
    assert lifecycle.forget(newer.uid, actor="ada").ended == (older.uid,)
    return older, newer


def test_it_stays_ended_until_it_is_restored(ended: tuple[Memory, Memory]) -> None:
    older, _ = ended
    assert found("session store") == []
    assert lifecycle.restore(older.uid, actor="ada").merged_into is None
    assert found("session store") == [OLD]
    assert AuditEntry.objects.filter(action="restore", memory_uid=older.uid).exists()


def test_should_the_newer_one_come_back_both_hold(ended: tuple[Memory, Memory]) -> None:
    for one in ended:
        lifecycle.restore(one.uid, actor="ada")
    assert sorted(found("session store")) == [OLD, NEW]
    assert Conflict.objects.get().verdict == "rejected"


def test_it_can_be_restored_after_a_purge_too(ended: tuple[Memory, Memory]) -> None:
    older, newer = ended
    lifecycle.purge(actor="ada")
    assert not Memory.objects.filter(pk=newer.pk).exists()
    lifecycle.restore(older.uid, actor="ada")
    assert found("session store") == [OLD]


def test_a_living_twin_takes_it_in(ended: tuple[Memory, Memory]) -> None:
    older, _ = ended
    twin = remember(Draft(content=OLD)).uid
    assert twin != older.uid
    assert lifecycle.restore(older.uid, actor="ada").merged_into == twin
    assert found("session store") == [OLD]


def test_what_was_ended_otherwise_or_by_a_memory_that_lives_is_not_restored(remembered: Callable[..., Memory]) -> None:
    older, newer = remembered(OLD), remembered(NEW)
    conflicts.settle(Conflict.objects.get().pk, "confirmed", actor="ada")
    edited = remembered("Port 80")
    edit = remembered("Port 443", supersedes=[edited.uid])
    assert lifecycle.forget(edit.uid, actor="ada").ended == ()
    for one in (older, edited):
        with pytest.raises(NotFound):
            lifecycle.restore(one.uid, actor="ada")
    lifecycle.forget(older.uid, actor="ada")
    assert lifecycle.forget(newer.uid, actor="ada").ended == ()
