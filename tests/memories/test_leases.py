"""Leases: one owner at a time, taken over when it lapses."""

from collections.abc import Callable
from datetime import datetime

import pytest

from memories import leases
from memories.models import Lease

pytestmark = pytest.mark.django_db
type Freeze = Callable[[str], datetime]


def test_a_lease_has_one_owner_until_it_ends(freeze: Freeze) -> None:
    freeze("2026-03-01T12:00:00Z")
    assert leases.claim("work", owner="a", seconds=60)
    assert not leases.claim("work", owner="b", seconds=60)
    assert leases.claim("other", owner="b", seconds=60)
    freeze("2026-03-01T12:00:59Z")
    assert leases.claim("work", owner="a", seconds=60)
    freeze("2026-03-01T12:01:30Z")
    assert not leases.claim("work", owner="b", seconds=60)
    freeze("2026-03-01T12:02:00Z")
    assert leases.claim("work", owner="b", seconds=60)
    assert not leases.claim("work", owner="a", seconds=60)


def test_a_released_lease_is_free_but_only_its_owner_releases_it() -> None:
    assert leases.claim("work", owner="a", seconds=60)
    leases.release("work", owner="b")
    assert not leases.claim("work", owner="b", seconds=60)
    leases.release("work", owner="a")
    assert leases.claim("work", owner="b", seconds=60)


def test_a_clock_that_was_put_back_does_not_keep_a_lease_for_ever(freeze: Freeze) -> None:
    freeze("2026-03-01T12:00:00Z")
    assert leases.claim("work", owner="a", seconds=60)
    freeze("2026-02-01T12:00:00Z")
    assert leases.claim("work", owner="b", seconds=60)


def test_a_turn_comes_once_in_its_time_for_whoever_asks(freeze: Freeze) -> None:
    freeze("2026-03-01T12:00:00Z")
    assert leases.claim_turn("purge", owner="a", seconds=3600)
    assert not leases.claim_turn("purge", owner="a", seconds=3600)
    freeze("2026-03-01T12:59:59Z")
    assert not leases.claim_turn("purge", owner="b", seconds=3600)
    freeze("2026-03-01T13:00:00Z")
    assert leases.claim_turn("purge", owner="b", seconds=3600)
    assert leases.claim_turn("purge", owner="b", seconds=60), "the interval was made shorter"
    assert Lease.objects.count() == 1
