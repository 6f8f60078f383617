import math

import pytest
from scoring import bootstrap, recall_at, reciprocal_rank, wilson


def test_recall_is_the_share_of_gold_among_the_first_k() -> None:
    assert recall_at(2, ["a", "x", "b"], ["a", "b"]) == 0.5


def test_gold_that_is_named_twice_counts_once() -> None:
    assert recall_at(5, ["a"], ["a", "a"]) == 1


def test_the_reciprocal_rank_is_that_of_the_first_gold_memory() -> None:
    assert reciprocal_rank(["x", "b", "a"], ["a", "b"]) == 0.5


def test_nothing_found_has_reciprocal_rank_zero() -> None:
    assert reciprocal_rank(["x"], ["a"]) == 0


def test_the_wilson_interval_is_the_published_one() -> None:
    assert wilson(10, 100) == pytest.approx((0.0552, 0.1744), abs=1e-4)


def test_no_hit_at_all_leaves_an_interval_above_zero() -> None:
    low, high = wilson(0, 120)
    assert low == 0
    assert high == pytest.approx(0.031, abs=1e-3)


def test_the_bootstrap_is_the_same_every_time() -> None:
    values = [0.0, 1.0, 1.0, 0.5] * 20
    low, high = bootstrap(values)
    assert bootstrap(values) == (low, high)
    assert low < 0.625 < high


def test_no_questions_have_no_interval() -> None:
    assert all(math.isnan(end) for end in bootstrap([]))
