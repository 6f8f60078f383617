"""Groups of texts that are all alike: against every pair tried one by one."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.truth import clusters
from memories.truth.clusters import MOST_TOGETHER, Texts, find

WORDS = [f"word{letter}" for letter in "abcdefghij"]
TEXTS = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=6, unique=True).map(" ".join), max_size=12)


@given(TEXTS)
def test_groups_are_mutually_alike_and_no_two_that_are_left_are(texts: list[str]) -> None:
    groups = find(texts, {}, least_cosine=1.0, longest=10_000)
    known = Texts(texts, {}, least_cosine=1.0)
    taken = [one for group in groups for one in group]
    assert len(taken) == len(set(taken))
    assert all(known.joinable(one, two) for group in groups for one, two in combinations(group, 2))
    left = [one for one in range(len(texts)) if one not in taken]
    assert not any(known.joinable(one, two) for one, two in combinations(left, 2))


def test_vectors_join_what_words_do_not() -> None:
    texts = ["alpha beta", "gamma delta", "epsilon zeta"]
    near, far = np.array([1, 0], np.float32), np.array([0, 1], np.float32)
    assert find(texts, {0: near, 1: near, 2: far}, least_cosine=0.9, longest=1000) == [(0, 1)]
    assert find(texts, {0: near, 2: near}, least_cosine=0.9, longest=1000) == [(0, 2)]


@pytest.mark.parametrize("by_vector", [False, True])
def test_very_many_alike_become_groups_of_bounded_size_in_one_go(by_vector: bool) -> None:
    names = [f"name{chr(97 + at // 26)}{chr(97 + at % 26)}" for at in range(300)]
    texts = [f"{name} says: service restarts nightly after backup job window closes" for name in names]
    vectors = {at: np.array([1, 0], np.float32) for at in range(300)} if by_vector else {}
    groups = find(texts, vectors, least_cosine=0.9, longest=100_000)
    assert max(len(group) for group in groups) <= MOST_TOGETHER
    known = Texts(texts, vectors, least_cosine=0.9)
    taken = {one for group in groups for one in group}
    left = [one for one in range(300) if one not in taken]
    assert not any(known.joinable(one, two) for one, two in combinations(left, 2))


def test_a_group_is_no_longer_than_allowed() -> None:
    texts = [f"deploy runs from release branch every night {name}" for name in ("ada", "bo", "cy", "di")]
    longest = 2 * len(texts[0]) + 2
    groups = find(texts, {}, least_cosine=1.0, longest=longest)
    assert groups
    assert all(sum(len(texts[one]) + 1 for one in group) <= longest for group in groups)


def test_nothing_makes_no_group() -> None:
    assert find([], {}, least_cosine=1.0, longest=100) == []
    assert find(["", "the"], {}, least_cosine=1.0, longest=100) == []
    assert clusters.find(["only one"], {}, least_cosine=1.0, longest=100) == []
