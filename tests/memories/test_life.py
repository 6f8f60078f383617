"""What age and use do to the score of a memory."""

from collections.abc import Callable
from datetime import datetime

import pytest

from memories import accesses
from memories.life import Traits, vitality
from memories.models import Memory
from memories.recall import Question, recall

pytestmark = pytest.mark.django_db

NOW = datetime.fromisoformat("2026-11-30T12:00:00+00:00")
type Remembered = Callable[..., Memory]


def traits(*, fades: bool = True, confidence: float = 1.0, used: int = 0, last: str = "2026-11-30 12:00:00") -> Traits:
    return Traits("u" * 32, NOW, 0, fades, confidence, used, last)


@pytest.mark.parametrize("days", [0, 1, 30])
def test_what_was_used_lately_loses_nothing(days: int) -> None:
    assert (
        vitality(traits(last=f"2026-11-{30 - days:02} 12:00:00" if days < 30 else "2026-10-31 12:00:00"), now=NOW) == 1
    )


def test_what_lies_idle_loses_half_of_its_share_in_a_half_life(configure: Callable[..., None]) -> None:
    configure(weight_recency=0.2, half_life_days=60, decay_after_days=30)
    assert vitality(traits(last="2026-09-01 12:00:00"), now=NOW) == pytest.approx(1 - 0.2 / 2, abs=0.001)
    assert vitality(traits(last="1990-01-01 00:00:00"), now=NOW) == pytest.approx(0.8, abs=0.001)


def test_use_lifts_up_to_a_bound() -> None:
    once, often, always = (vitality(traits(used=used), now=NOW) for used in (1, 10, 10**6))
    assert 1 < once < often == always <= 1.05


def test_what_lasts_neither_fades_nor_grows() -> None:
    assert vitality(traits(fades=False, used=100, last="1990-01-01 00:00:00"), now=NOW) == 1


def test_doubt_costs_whatever_it_is() -> None:
    for fades in (True, False):
        assert vitality(traits(fades=fades, confidence=0.5), now=NOW) == pytest.approx(0.9)


def test_nothing_counts_with_all_weights_off(configure: Callable[..., None]) -> None:
    configure(weight_recency=0, weight_frequency=0, weight_confidence=0)
    assert vitality(traits(confidence=0.1, used=9, last="1990-01-01 00:00:00"), now=NOW) == 1


def test_of_two_artifacts_the_fresh_one_stands_first(remembered: Remembered, configure: Callable[..., None]) -> None:
    configure(ttl_artifact_days=0)
    fresh = remembered("the build log says green", kind="artifact", valid_from="2026-11-01")
    stale = remembered("the build log says green or so", kind="artifact", valid_from="2025-01-01")
    Memory.objects.filter(pk=stale.pk).update(content="the build log says green")
    found = recall(Question(query="build log green", mode="search")).items
    assert [item.memory.pk for item in found] == [fresh.pk, stale.pk]
    assert found[0].why["boosts"]["life"] > found[1].why["boosts"]["life"]


@pytest.mark.parametrize("fields", [{"kind": "fact"}, {"kind": "decision"}, {"kind": "artifact", "pinned": True}])
def test_facts_decisions_and_what_is_pinned_do_not_fade(remembered: Remembered, fields: dict) -> None:
    remembered("the build log says green", valid_from="2020-01-01", **fields)
    (item,) = recall(Question(query="build log", mode="search")).items
    assert item.why["boosts"]["life"] == 1


def test_recalls_are_counted_beside_them(remembered: Remembered) -> None:
    accesses.keep()
    memory = remembered("the build log says green")
    before = memory.updated_at
    for _ in range(3):
        recall(Question(query="build log", mode="search"))
    recall(Question(query="build log", mode="search", as_of="2026-01-01"))
    memory.refresh_from_db()
    assert memory.access_count == 0
    assert accesses.keep() == 1
    memory.refresh_from_db()
    assert (memory.access_count, memory.updated_at) == (3, before)
    assert memory.last_accessed_at
    assert accesses.keep() == 0
