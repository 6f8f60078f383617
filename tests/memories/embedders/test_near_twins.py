"""Texts that MiniLM holds for alike: the words decide whether they are one memory."""

from collections.abc import Callable

import pytest

from memories.embedders.llama import LlamaEmbedder
from memories.models import Memory
from memories.remember import Draft, remember

CONTRADICTIONS = [
    ("The service retries failed webhooks.", "The service no longer retries failed webhooks."),
    ("The session store moved from Redis to Postgres.", "The session store moved from Postgres to Redis."),
    ("Always rebase before you merge a branch.", "Never rebase before you merge a branch."),
    ("Do commit the lock file with every change.", "Do not commit the lock file with every change."),
    (
        "Put the token in the header, not in the query string.",
        "Put the token in the query string, not in the header.",
    ),
    ("The flag new_checkout is enabled in production.", "The flag new_checkout is disabled in production."),
    ("Deploy from staging to production on Fridays.", "Deploy from production to staging on Fridays."),
    ("Tests must pass before a merge.", "Tests must pass after a merge."),
    ("The cache lives for 30 minutes in production.", "The cache lives for 60 minutes in production."),
    ("Requires Python >= 3.12 to run the tool.", "Requires Python <= 3.12 to run the tool."),
    ("Run the linter with the cache.", "Run the linter without the cache."),
    ("Set the exit code to 1 when it fails.", "Set the exit code to -1 when it fails."),
]
SAME = [
    ("Use tabs for indentation in Go files.", "USE TABS for indentation in Go files!"),
    ("Deploys run on Fridays, from the main branch.", "deploys run on fridays from the main branch."),
    ("The API's base path is /v2 for every client.", "the API's base path is  /v2 for every client."),
    ("Money is kept in cents as integers.", "The money is kept in cents as integers."),
]


def cosine(model: LlamaEmbedder, one: str, other: str) -> float:
    first, second = model.documents([one, other], patience=1)
    return float(first @ second)


def kept(*texts: str, **fields: str) -> list[str]:
    return [remember(Draft(content=text, **fields)).status for text in texts]


@pytest.mark.django_db
@pytest.mark.parametrize(("one", "other"), CONTRADICTIONS)
def test_a_text_and_its_opposite_are_two_memories(
    with_minilm: LlamaEmbedder, configure: Callable[..., None], one: str, other: str
) -> None:
    assert cosine(with_minilm, one, other) > 0.9
    configure(dedup_sim=0.9)
    assert kept(one, other) == ["created", "created"]
    assert kept(other, one) == ["refreshed", "refreshed"]
    assert Memory.objects.count() == 2


@pytest.mark.django_db
@pytest.mark.parametrize(("one", "other"), SAME)
def test_the_same_words_in_another_dress_are_one_memory(with_minilm: LlamaEmbedder, one: str, other: str) -> None:
    assert cosine(with_minilm, one, other) >= 0.98
    assert kept(one, other) == ["created", "refreshed"]
    memory = Memory.objects.get()
    assert memory.content == one
    assert memory.passages.count() == 1


@pytest.mark.django_db
def test_below_the_least_cosine_the_same_words_are_two_memories(
    with_minilm: LlamaEmbedder, configure: Callable[..., None]
) -> None:
    one, other = SAME[0]
    configure(dedup_sim=min(1.0, cosine(with_minilm, one, other) + 0.001))
    assert kept(one, other) == ["created", "created"]


@pytest.mark.django_db
def test_a_least_cosine_of_nothing_switches_it_off(with_minilm: LlamaEmbedder, configure: Callable[..., None]) -> None:
    configure(dedup_sim=0.0)
    assert kept(*SAME[0]) == ["created", "created"]


@pytest.mark.django_db
@pytest.mark.usefixtures("with_minilm")
def test_another_place_has_a_memory_of_its_own() -> None:
    one, other = SAME[0]
    assert kept(one, project="a") == kept(other, project="b") == kept(other, scope="s", project="a") == ["created"]
    assert kept(one, project="b") == ["refreshed"]


@pytest.mark.django_db
@pytest.mark.usefixtures("with_minilm")
def test_what_was_forgotten_or_superseded_takes_nothing_in(remembered: Callable[..., Memory]) -> None:
    one, other = SAME[0]
    first = remembered(one)
    remembered("Indentation in Go is nobody's business any more.", supersedes=[first.uid])
    assert kept(other) == ["created"]


@pytest.mark.django_db
@pytest.mark.usefixtures("with_minilm")
def test_an_edit_of_case_alone_is_an_edit(remembered: Callable[..., Memory]) -> None:
    """Who names what is replaced means the new wording."""
    one, other = SAME[0]
    first = remembered(one)
    second = remembered(other, supersedes=[first.uid])
    assert second.content == other
    assert Memory.objects.live().get() == second
