"""Memories without vectors of the model in use: after a failure, a crash, or another model."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from memories import embedding, lifecycle, listing
from memories.embedders import EmbeddingFailed
from memories.listing import VectorCounts
from memories.models import Memory, Passage
from memories.passages import passages
from memories.recall import Question, recall
from memories.remember import Draft, remember
from tests.memories.conftest import found
from tests.memories.embedders.fakes import Words, use

SYNONYMS = {"charge": "pay", "customers": "buyers"}
LONG = " ".join(f"Line {number} of a long text is here." for number in range(60))


@pytest.fixture
def words(monkeypatch: pytest.MonkeyPatch) -> Words:
    embedder = Words(same=SYNONYMS)
    use(monkeypatch, embedder)
    return embedder


def counts() -> VectorCounts:
    return listing.stats().vectors


def by_meaning(query: str) -> list[str]:
    """What is found by a query that shares no word with it."""
    return [content for content in found(query) if not set(query.split()) & set(content.split())]


def keep(*texts: str) -> list[str]:
    return [remember(Draft(content=text)).vector for text in texts]


@pytest.mark.django_db
def test_what_failed_is_pending_until_it_is_repaired(words: Words) -> None:
    words.failure = "The model is away."
    assert keep("charge customers", "feed the owl") == ["pending", "pending"]
    assert counts() == VectorCounts(0, 2, 0)
    words.failure = ""
    assert by_meaning("pay buyers") == []
    assert lifecycle.backfill() == lifecycle.Backfilled(2, 0)
    assert by_meaning("pay buyers") == ["charge customers"]
    assert counts() == VectorCounts(2, 0, 0)
    assert lifecycle.backfill() == lifecycle.Backfilled(0, 0)


@pytest.mark.django_db
def test_a_crash_between_row_and_vector_leaves_it_pending(words: Words) -> None:
    keep("charge customers")
    Passage.objects.all().delete()
    assert counts() == VectorCounts(0, 1, 0)
    assert by_meaning("pay buyers") == []
    assert lifecycle.backfill().repaired == 1
    assert by_meaning("pay buyers") == ["charge customers"]


@pytest.mark.django_db
def test_vectors_of_another_text_count_for_nothing(words: Words) -> None:
    keep("charge customers")
    Passage.objects.update(text_hash="0" * 64)
    assert by_meaning("pay buyers") == []
    assert counts().pending == 1
    assert lifecycle.backfill().repaired == 1
    assert by_meaning("pay buyers") == ["charge customers"]


@pytest.mark.django_db
def test_another_dimension_and_back(words: Words, monkeypatch: pytest.MonkeyPatch) -> None:
    keep("charge customers")
    for other in (Words(dimension=8, same=SYNONYMS), words):
        use(monkeypatch, other)
        assert counts() == VectorCounts(0, 1, 1)
        assert by_meaning("pay buyers") == []
        assert found("charge") == ["charge customers"]
        assert lifecycle.backfill().repaired == 1
        assert counts() == VectorCounts(1, 0, 0)
        assert by_meaning("pay buyers") == ["charge customers"]
        assert {len(bytes(one.vector)) for one in Passage.objects.all()} == {4 * other.dimension}


@pytest.mark.django_db
def test_two_models_of_one_dimension_never_meet(words: Words, monkeypatch: pytest.MonkeyPatch) -> None:
    keep("charge customers")
    assert by_meaning("pay buyers") == ["charge customers"]
    use(monkeypatch, Words("other words", same=SYNONYMS))
    assert by_meaning("pay buyers") == []
    keep("charge twice")
    assert by_meaning("pay") == ["charge twice"]
    use(monkeypatch, words)
    assert by_meaning("pay buyers") == ["charge customers"]
    assert counts() == VectorCounts(1, 1, 1)


@pytest.mark.django_db
def test_without_a_model_nothing_is_repaired_or_pending(words: Words, monkeypatch: pytest.MonkeyPatch) -> None:
    keep("charge customers")
    use(monkeypatch, None)
    assert keep("feed the owl") == ["off"]
    assert lifecycle.backfill() == lifecycle.Backfilled()
    assert counts() == VectorCounts(0, 0, 1)
    assert recall(Question(query="owl", mode="search")).degraded is None


@pytest.mark.django_db
def test_while_the_model_loads_its_vectors_are_not_foreign(words: Words) -> None:
    keep("charge customers")
    words.state = "loading"
    assert counts().foreign == 0


@pytest.mark.django_db
def test_the_newest_is_repaired_first_and_what_is_broken_off_goes_on(words: Words) -> None:
    words.failure = "Away."
    keep("one", "two", "three")
    words.failure = ""
    repairing = embedding.repair(patience=1)
    assert next(repairing) == 2
    repairing.close()
    assert words.asked[-1] == "three"
    assert lifecycle.backfill() == lifecycle.Backfilled(2, 0)
    assert words.asked[-2:] == ["two", "one"]


@pytest.mark.django_db
def test_a_model_that_fails_again_says_so(words: Words) -> None:
    words.failure = "Away."
    keep("one")
    with pytest.raises(EmbeddingFailed):
        lifecycle.backfill()


@pytest.mark.django_db
def test_a_text_that_the_model_refuses_keeps_no_other_from_its_vectors(words: Words) -> None:
    words.failure = "Away."
    keep("charge customers", "the bad one")
    words.failure, words.poison = "", "bad"
    assert lifecycle.backfill() == lifecycle.Backfilled(1, 1)
    assert by_meaning("pay buyers") == ["charge customers"]
    assert counts() == VectorCounts(1, 1, 0)


@pytest.mark.django_db
def test_forgotten_memories_are_not_embedded(words: Words) -> None:
    words.failure = "Away."
    keep("one", "two")
    words.failure = ""
    lifecycle.forget(Memory.objects.get(content="two").uid, actor="test")
    assert lifecycle.backfill().repaired == 1
    assert Passage.objects.get().memory.content == "one"


@pytest.mark.django_db
def test_a_long_text_is_embedded_later_and_shown_by_its_passage(words: Words) -> None:
    text = f"{LONG * 100}\nCustomers are charged at night."
    assert keep(text) == ["pending"]
    assert lifecycle.backfill().repaired == 1
    spans = list(Passage.objects.order_by("position").values_list("start", "end"))
    assert spans == passages(Memory.objects.get().content)


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("words")
def test_two_backfills_at_once_leave_one_set_of_passages(words: Words) -> None:
    words.failure = "Away."
    for number in range(12):
        keep(f"{number} {LONG}")
    words.failure = ""
    together = threading.Barrier(2)

    def run() -> int:
        try:
            together.wait(10)
            return lifecycle.backfill().pending
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        assert [future.result(30) for future in [pool.submit(run), pool.submit(run)]] == [0, 0]
    for memory in Memory.objects.all():
        spans = list(memory.passages.order_by("position").values_list("position", "start", "end"))
        assert spans == [(at, start, end) for at, (start, end) in enumerate(passages(memory.content))]
    assert counts() == VectorCounts(12, 0, 0)


@pytest.mark.django_db
def test_the_same_text_again_gives_a_pending_memory_its_vectors(words: Words) -> None:
    words.failure = "The model is away."
    keep("charge customers")
    words.failure = ""
    again = remember(Draft(content="charge customers"))
    assert (again.status, again.vector) == ("refreshed", "stored")
    assert counts() == VectorCounts(1, 0, 0)
    assert by_meaning("pay buyers") == ["charge customers"]
