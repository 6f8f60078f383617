"""What recall does with a pair that nobody has settled yet."""

import pytest

from memories.models import Conflict, Memory
from memories.recall import Question, recall
from tests.memories.truth.pairs import NEW, keep, pair

pytestmark = pytest.mark.django_db


def test_while_a_pair_is_pending_the_newer_stands_above_the_older() -> None:
    older, newer, _ = pair("Session store: Redis. Session store, session store.", NEW)
    items = recall(Question(query="session store redis", mode="search")).items
    assert [item.memory for item in items] == [newer, older]
    assert [item.doubt for item in items] == ["", "maybe outdated"]
    assert items[1].why["conflict"] == {"newer": newer.uid, "state": "pending"}


@pytest.mark.parametrize(("better", "is_raised"), [(9, False), (10, True)], ids=["older among the best", "neither"])
def test_a_newer_one_that_many_answer_better_than_rises_above_none_of_these(better: int, is_raised: bool) -> None:
    older, newer, _ = pair("The login sessions live in Redis", "Since May Redis is gone: everything moved to Postgres")
    pages = ["start", "search", "cart", "account", "order", "invoice", "address", "help", "terms", "news"]
    for page in pages[:better]:
        keep(f"login sessions of the {page} page live in Redis", kind="artifact")
    items = recall(Question(query="login sessions live redis", mode="search", limit=20)).items
    assert len(items) == better + 2
    assert [item.memory for item in items[better:]] == ([newer, older] if is_raised else [older, newer])
    assert [item.memory for item in items if item.doubt] == [older]


def test_a_newer_one_stands_above_the_one_that_it_is_most_like() -> None:
    texts = ["sessions live in redis", "the login queue lives in redis", "redis was given up for sessions"]
    likest, other, newer = (Memory.objects.get(uid=keep(text, kind="artifact").uid) for text in texts)
    Conflict.objects.create(older=likest, newer=newer, similarity=0.9, evidence="change: given up")
    Conflict.objects.create(older=other, newer=newer, similarity=0.5, evidence="change: given up")
    items = recall(Question(query="login queue redis", mode="search")).items
    assert [item.memory for item in items] == [other, newer, likest]
    assert [item.doubt for item in items] == ["maybe outdated", "", "maybe outdated"]


def test_the_block_says_that_the_older_may_be_outdated() -> None:
    pair()
    block = recall(Question(query="session store Redis", mode="search")).block.text
    assert ", maybe outdated] The session store is Redis" in block


def test_nothing_doubtful_is_injected_alone() -> None:
    pair("The login sessions live in Redis", "Since May Redis is gone: everything moved to Postgres")
    searched = recall(Question(query="login sessions", mode="search")).items
    assert [item.doubt for item in searched] == ["maybe outdated"]
    injected = recall(Question(query="login sessions")).items
    assert [item.doubt for item in injected] == ["", "maybe outdated"]


def test_the_past_is_not_in_doubt() -> None:
    older, _, _ = pair()
    Memory.objects.filter(pk=older.pk).update(valid_from="2026-01-01T00:00Z")
    items = recall(Question(query="session store", mode="search", as_of="2026-02-01")).items
    assert [(item.memory.uid, item.doubt) for item in items] == [(older.uid, "")]
