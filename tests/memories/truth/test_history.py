"""What was true when."""

from collections.abc import Callable
from typing import Any

import pytest

from memories import lifecycle
from memories.errors import NotFound, Rejected
from memories.models import Memory
from memories.truth.history import Asked, history
from tests.memories.conftest import Versions

pytestmark = pytest.mark.django_db

type Remembered = Callable[..., Memory]


def told(limit: int = 50, offset: int = 0, **asked: object) -> list[tuple[str, str]]:
    found = history(Asked(**{"scope": "default", **asked}), limit=limit, offset=offset)  # type: ignore[arg-type]
    return [(event.what, event.memory.content) for event in found.events]


@pytest.fixture
def postgres(remembered: Remembered) -> tuple[Memory, Memory]:
    """True in March, and since June."""
    march = remembered("The store is Redis", valid_from="2026-03-01")
    return march, remembered("The store is Postgres", valid_from="2026-06-01", supersedes=[march.uid])


def test_the_versions_of_a_fact(versions: Versions) -> None:
    for version in versions:
        assert told(uid=version.uid) == [("began", one.content) for one in versions]


@pytest.mark.parametrize(
    ("moment", "held"),
    [
        ("2026-02-28", []),
        ("2026-03-01", ["The store is Redis"]),
        ("2026-05-31T23:59:59Z", ["The store is Redis"]),
        ("2026-06-01T00:00:00Z", ["The store is Postgres"]),
        ("2026-06-01T08:59:59+09:00", ["The store is Redis"]),
        ("2026-07-01", ["The store is Postgres"]),
        ("9999-12-31", ["The store is Postgres"]),
    ],
)
@pytest.mark.usefixtures("postgres")
def test_what_held_at_a_moment(moment: str, held: list[str]) -> None:
    assert told(as_of=moment) == [("held", content) for content in held]
    assert told(as_of=moment, query="which store?") == [("held", content) for content in held]


@pytest.mark.usefixtures("postgres")
def test_what_changed_between_two_moments() -> None:
    began, ended = ("began", "The store is Redis"), ("ended", "The store is Redis")
    assert told(since="2026-01-01", until="2026-05-01") == [began]
    assert sorted(told(since="2026-05-01")) == [("began", "The store is Postgres"), ended]
    assert told(until="2026-01-01") == []
    assert told(since="2026-07-01") == []


def test_what_was_corrected_never_began(remembered: Remembered) -> None:
    wrong = remembered("The port is 80", valid_from="2026-03-01")
    remembered("The port is 8080", supersedes=[wrong.uid], correction=True)
    assert told(since="2026-01-01") == [("began", "The port is 8080")]
    assert told(as_of="2026-04-01") == [("held", "The port is 8080")]


def test_the_forgotten_and_the_expired_are_in_no_answer(
    remembered: Remembered, freeze: Callable[[str], object]
) -> None:
    freeze("2026-03-01T00:00:00Z")
    gone = remembered("Gone by a person")
    remembered("Gone by itself", ttl_seconds=60)
    remembered("Kept")
    freeze("2026-03-02T00:00:00Z")
    lifecycle.forget(gone.uid, actor="ada")
    assert told(as_of="2026-03-01T00:00:01Z") == [("held", "Kept")]
    assert told(since="2026-01-01") == [("began", "Kept")]
    with pytest.raises(NotFound):
        told(uid=gone.uid)


@pytest.mark.usefixtures("postgres")
def test_other_scopes_and_projects_are_not_told_of(remembered: Remembered) -> None:
    memory = remembered("Elsewhere", scope="team", project="acme/shop")
    assert told(scope="other", since="2020-01-01") == []
    assert told(scope="team", since="2020-01-01", project="acme/shop") == [("began", "Elsewhere")]
    assert told(scope="team", since="2020-01-01", project="acme/app") == []
    with pytest.raises(NotFound):
        told(uid=memory.uid)


def test_pages_meet_without_gaps(remembered: Remembered) -> None:
    for day in range(1, 29):
        remembered(f"Day number {day} was fine.", valid_from=f"2026-02-{day:02}")
    whole = told(since="2026-01-01", limit=500)
    pages = [one for offset in range(0, 30, 7) for one in told(since="2026-01-01", limit=7, offset=offset)]
    assert pages == whole
    assert history(Asked(scope="default", since="2026-01-01"), limit=7).total == len(whole) == 28


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"uid": "a" * 32, "as_of": "2026-01-01"},
        {"since": "2026-01-01", "as_of": "2026-01-01"},
        {"query": "store"},
        {"since": "2026-01-01", "query": "store"},
        {"as_of": "2026-01-01T12:00:00"},
        {"as_of": "yesterday"},
        {"since": "garbage"},
    ],
)
def test_anything_but_one_question_is_refused(asked: dict[str, str]) -> None:
    with pytest.raises(Rejected):
        told(**asked)


def test_what_replaced_each_memory_is_not_asked_for_one_by_one(
    remembered: Remembered, django_assert_max_num_queries: Callable[..., Any]
) -> None:
    old = [remembered(f"version {number}", valid_from="2026-03-01") for number in range(20)]
    newest = remembered("the version", supersedes=[one.uid for one in old], valid_from="2026-06-01")
    for asked in ({"uid": newest.uid}, {"as_of": "2026-04-01", "query": "version"}, {"as_of": "2026-04-01"}):
        with django_assert_max_num_queries(18):
            events = history(Asked(scope="default", **asked)).events
            successors = {event.memory.superseded_by for event in events if event.memory != newest}
        assert len(events) >= 20
        assert successors == {newest}


def test_a_page_behind_the_last_event_is_empty(remembered: Remembered) -> None:
    remembered("The session store is Redis")
    assert told(since="2020-01-01")
    assert told(since="2020-01-01", offset=2**63 - 1) == []
