"""Numbers with their units."""

import pytest

from memories.truth.measures import measures


@pytest.mark.parametrize(
    ("text", "unit", "number"),
    [
        ("kept for 30 days", "day", "30"),
        ("kept for thirty days", "day", "30"),
        ("a seven-day window", "day", "7"),
        ("after 8 s", "s", "8"),
        ("after 8 seconds", "s", "8"),
        ("nach 24 Stunden", "h", "24"),
        ("at most 1.5 GB", "gb", "1.5"),
        ("above 40 % of the disk", "%", "40"),
        ("2,048 tokens", "token", "2,048"),
    ],
)
def test_a_number_is_read_with_its_unit(text: str, unit: str, number: str) -> None:
    assert measures(text) == {unit: {number}}


@pytest.mark.parametrize("text", ["tension", "version 2.1", "p95", "in 2 of them", ""])
def test_a_number_without_a_unit_is_none(text: str) -> None:
    assert measures(text) == {}


def test_all_numbers_of_a_unit_are_kept() -> None:
    assert measures("5 MB for guests, 20 MB for members, twelve minutes each") == {"mb": {"5", "20"}, "min": {"12"}}


def test_hostile_numbers_are_read_in_linear_time() -> None:
    assert measures("1," * 200_000) == {}
