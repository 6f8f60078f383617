"""Recall by meaning: a query that shares no word with what it finds."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from memories import embedders, lifecycle
from memories.edit import edit
from memories.models import Memory
from memories.recall import Item, Question, recall
from memories.search import vectors
from tests.memories.conftest import found
from tests.memories.embedders.fakes import Words, use

SAME = {
    "charge": "pay", "customers": "buyers", "stripe": "paypal", "automobile": "car", "mends": "repairs",
    "vehicles": "cars", "mechanics": "garages",
}  # fmt: skip
STORED = "charge customers by stripe"
ASKED = "pay buyers paypal"


@pytest.fixture(autouse=True)
def words(monkeypatch: pytest.MonkeyPatch) -> Words:
    """A model that knows a few synonyms, and no matrix of another test."""
    monkeypatch.setattr(embedders, "_made", None)
    monkeypatch.setattr(vectors, "_matrices", {})
    embedder = Words(dimension=128, same=SAME)
    use(monkeypatch, embedder)
    return embedder


def hit(query: str, **fields: object) -> Item:
    (item,) = recall(Question(query=query, mode="search", **fields)).items  # type: ignore[arg-type]
    return item


def test_a_paraphrase_is_found_by_its_vectors(remembered: Callable[..., Memory]) -> None:
    memory = remembered(STORED)
    remembered("the owl sleeps in a barn")
    item = hit(ASKED)
    assert item.memory == memory
    assert item.why["vectors"]["rank"] == 1  # type: ignore[index]
    assert item.why["vectors"]["score"] > 0.5  # type: ignore[index]
    assert "words" not in item.why


def test_a_paraphrase_is_injected(remembered: Callable[..., Memory]) -> None:
    remembered(STORED)
    answer = recall(Question(query="pay buyers by paypal"))
    assert STORED in answer.block.text
    assert answer.degraded is None


def test_what_is_unrelated_is_not_found(remembered: Callable[..., Memory]) -> None:
    remembered("the owl sleeps in a barn")
    assert found(ASKED) == []


def test_a_prompt_without_a_telling_word_asks_no_model(remembered: Callable[..., Memory], words: Words) -> None:
    remembered(STORED)
    words.asked.clear()
    assert recall(Question(query="ok, thanks, go on")).items == ()
    assert words.asked == []


def test_the_floor_can_be_set(remembered: Callable[..., Memory], configure: Callable[..., None]) -> None:
    remembered(STORED)
    configure(recall_min_cosine=0.99)
    assert found(ASKED) == []
    configure(recall_min_cosine=0.0)
    assert found(ASKED) == [STORED]


def test_a_forgotten_memory_is_gone_at_once_and_back_when_restored(remembered: Callable[..., Memory]) -> None:
    memory = remembered(STORED)
    assert found(ASKED) == [STORED]
    lifecycle.forget(memory.uid, actor="test")
    assert found(ASKED) == []
    lifecycle.restore(memory.uid, actor="test")
    assert found(ASKED) == [STORED]


def test_a_superseded_wording_is_found_as_of_its_time_only(
    remembered: Callable[..., Memory], freeze: Callable[[str], datetime]
) -> None:
    freeze("2026-03-01T00:00:00+00:00")
    old = remembered(STORED)
    freeze("2026-05-01T00:00:00+00:00")
    remembered("automobile mends itself", supersedes=[old.uid])
    assert found(ASKED) == []
    assert found("car repairs") == ["automobile mends itself"]
    assert found(ASKED, as_of="2026-04-01") == [STORED]
    assert found("car repairs", as_of="2026-04-01") == []


def test_a_purged_memory_leaves_no_vector(remembered: Callable[..., Memory], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lifecycle, "_scrub", lambda: (True, ""))  # not inside the transaction of a test
    memory = remembered(STORED)
    assert found(ASKED) == [STORED]
    lifecycle.forget(memory.uid, actor="test")
    assert lifecycle.purge(actor="test").forgotten == 1
    assert found(ASKED) == []
    (matrix,) = vectors._matrices.values()
    assert memory.pk not in matrix._rows.where


def test_a_move_to_another_project_takes_the_vectors_along(remembered: Callable[..., Memory]) -> None:
    memory = remembered(STORED, project="shop")
    assert found(ASKED, project="shop") == [STORED]
    edit(memory.uid, actor="test", project="bank")
    assert found(ASKED, project="shop") == []
    assert found(ASKED, project="bank") == [STORED]
    assert found(ASKED, project="*") == [STORED]


def test_filters_hold_for_what_vectors_find(remembered: Callable[..., Memory]) -> None:
    remembered(STORED, kind="decision", tags=["money"], scope="mine", project="shop")
    here = {"scope": "mine", "project": "shop"}
    assert found(ASKED, **here, kinds=["decision"], tags=["money"]) == [STORED]
    assert found(ASKED, **here, kinds=["fact"]) == []
    assert found(ASKED, **here, tags=["other"]) == []
    assert found(ASKED, scope="mine", project="bank") == []
    assert found(ASKED, scope="other", project="shop") == []


def test_an_expired_memory_is_not_found(remembered: Callable[..., Memory], freeze: Callable[[str], datetime]) -> None:
    now = freeze("2026-03-01T00:00:00+00:00")
    remembered(STORED, ttl_seconds=60)
    assert found(ASKED) == [STORED]
    freeze((now + timedelta(seconds=61)).astimezone(UTC).isoformat())
    assert found(ASKED) == []


def test_many_better_ones_elsewhere_do_not_hide_the_one_here(remembered: Callable[..., Memory]) -> None:
    for number in range(120):
        remembered(f"{STORED} {number}", project="elsewhere", kind="decision")
        remembered(f"{STORED} {number}", project="here", kind="decision")
    remembered(f"{STORED} now and then", project="here")
    assert found(ASKED, project="here", kinds=["fact"]) == [f"{STORED} now and then"]


def test_a_failing_model_is_said_and_words_go_on(remembered: Callable[..., Memory], words: Words) -> None:
    remembered(STORED)
    words.failure = "The model is away."
    answer = recall(Question(query="charge somebody", mode="search"))
    assert [item.memory.content for item in answer.items] == [STORED]
    assert answer.degraded == "The model is away."
    assert recall(Question(query=ASKED)).degraded == "The model is away."


def test_a_long_memory_is_shown_by_the_passage_that_means_it(
    remembered: Callable[..., Memory], configure: Callable[..., None]
) -> None:
    configure(recall_min_cosine=0.0)
    filler = "The owl sleeps in a barn and the fox runs through the wood at night. " * 40
    remembered(f"{filler}\nCharge customers by stripe.\n{filler}")
    shown = hit(ASKED).excerpt
    assert "Charge customers by stripe." in shown
    assert shown.startswith("… ")
    assert shown.endswith(" …")
    assert len(shown) < 600


def test_a_short_memory_that_says_it_stands_above_a_long_one_of_which_a_passage_does(
    remembered: Callable[..., Memory], configure: Callable[..., None]
) -> None:
    configure(recall_min_cosine=0.0)
    filler = "The owl sleeps in a barn and the fox runs through the wood at night. " * 40
    long = remembered("Charge customers stripe. " * 40 + filler)
    short = remembered(STORED)
    items = recall(Question(query=ASKED, mode="search")).items
    assert [item.memory for item in items] == [short, long]
    assert items[0].why["vectors"]["score"] < items[1].why["vectors"]["score"]  # type: ignore[index]


def test_rank_fusion_finds_it_too(remembered: Callable[..., Memory], configure: Callable[..., None]) -> None:
    configure(fusion="rrf")
    remembered(STORED)
    remembered("buyers pay by paypal in shops")
    assert found(ASKED) == ["buyers pay by paypal in shops", STORED]
