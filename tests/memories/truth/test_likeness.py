"""How much two texts speak of the same."""

import pytest

from memories.truth.likeness import Rarity, overlap, terms

OURS, THEIRS = terms("The broker is RabbitMQ"), terms("The broker is Redis")


def test_texts_without_a_common_word_are_not_alike() -> None:
    assert Rarity().likeness(terms("tea at noon"), OURS) == 0
    assert Rarity().likeness(frozenset(), OURS) == 0


def test_a_text_is_entirely_like_itself() -> None:
    assert Rarity(["The broker is RabbitMQ", "Tea at noon"]).likeness(OURS, OURS) == pytest.approx(1)


def test_without_other_texts_every_word_counts_alike() -> None:
    assert Rarity().likeness(OURS, THEIRS) == pytest.approx(0.5)


def test_a_word_counts_less_the_more_texts_have_it() -> None:
    some = Rarity(["The broker is RabbitMQ", "The broker is slow"]).likeness(OURS, THEIRS)
    many = Rarity(["The broker is RabbitMQ", *[f"The broker of {number}" for number in range(15)]]).likeness(
        OURS, THEIRS
    )
    assert 0 < many < some < 0.5


def test_a_word_of_all_texts_counts_next_to_nothing() -> None:
    assert Rarity([f"The broker of {number}" for number in range(500)]).likeness(OURS, THEIRS) < 0.01


def test_a_long_text_shares_no_more_by_its_length() -> None:
    noise = "The minutes of the meeting go on about lunch and tea. " * 20
    assert overlap(noise, "The broker is Redis") == 0
    assert overlap(f"{noise}The broker is RabbitMQ.", "The broker is Redis") == pytest.approx(0.5)
