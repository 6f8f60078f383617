"""Words and meaning made one ranking."""

import pytest

from memories.search.fusion import fuse
from memories.search.keyword import Hit
from memories.search.meaning import Near
from memories.search.vectors import Close
from tests.memories.embedders.fakes import PROFILE

pytestmark = pytest.mark.django_db

BY_WORDS, BY_MEANING = 1, 2


def ranking(*closes: Close) -> list[int]:
    """The order of what shares two of five words with the query, and of what may only be near to it."""
    words = [Hit(BY_WORDS, 0.6, 0.4, 0.4, {"words": {"rank": 1, "score": 5.0}})]
    return [one.id for one in fuse(words, Near(closes, PROFILE))]


@pytest.mark.parametrize("cosine", [0.3, 0.6, 0.9])
def test_what_is_nearest_by_far_stands_above_a_few_common_words_however_far_it_is(cosine: float) -> None:
    assert ranking(Close(BY_MEANING, cosine, 0, 1), Close(BY_WORDS, cosine / 3, 0, 1)) == [BY_MEANING, BY_WORDS]


def test_where_nothing_is_near_the_words_decide() -> None:
    assert ranking(Close(BY_MEANING, 0.05, 0, 1)) == [BY_WORDS, BY_MEANING]


def test_the_nearest_of_many_passages_counts_less_than_a_text_that_is_all_near() -> None:
    long, short = Close(3, 0.8, 0, 1, passages=20), Close(4, 0.75, 0, 1)
    assert [one.id for one in fuse([], Near((long, short), PROFILE))] == [4, 3]
    single = Close(3, 0.8, 0, 1)
    assert [one.id for one in fuse([], Near((single, short), PROFILE))] == [3, 4]


def test_relevance_does_not_depend_on_what_else_is_near() -> None:
    far = Close(3, 0.3, 0, 1, passages=20)
    (alone,) = fuse([], Near((far,), PROFILE))
    relevance = {one.id: one.relevance for one in fuse([], Near((Close(4, 0.9, 0, 1), far), PROFILE))}
    assert alone.relevance == relevance[3] == pytest.approx(0.3)
