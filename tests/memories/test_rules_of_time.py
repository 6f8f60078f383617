import os
import time
from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories import clock, listing
from memories.errors import Rejected
from memories.listing import Filters
from memories.models import Memory
from memories.recall import Question, recall
from memories.remember import Draft, remember

NOON = "2026-03-29T12:00:00+00:00"


@pytest.fixture(params=["Asia/Tokyo", "America/Los_Angeles", "Europe/Berlin", "UTC"])
def _abroad(request, monkeypatch):
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield
    monkeypatch.delenv("TZ")
    time.tzset()


def true_at(moment, query="cap", **fields):
    items = recall(Question(query=query, mode="search", as_of=moment, **fields)).items
    return sorted(item.memory.content for item in items)


@pytest.mark.usefixtures("_abroad")
@pytest.mark.parametrize(
    ("given_time", "meant"),
    [
        ("2026-03-29", datetime(2026, 3, 29, tzinfo=UTC)),
        ("2026-03-29T02:30:00Z", datetime(2026, 3, 29, 2, 30, tzinfo=UTC)),
        ("2026-03-29T02:30:00+09:00", datetime(2026, 3, 28, 17, 30, tzinfo=UTC)),
        ("2026-03-29 02:30-07:00", datetime(2026, 3, 29, 9, 30, tzinfo=UTC)),
        (" 2026-03-29T02:30:00.123456Z ", datetime(2026, 3, 29, 2, 30, 0, 123456, tzinfo=UTC)),
        ("9999-12-31", datetime(9999, 12, 31, tzinfo=UTC)),
        (date(2026, 3, 29), datetime(2026, 3, 29, tzinfo=UTC)),
        (datetime(2026, 3, 29, 9, tzinfo=timezone(timedelta(hours=9))), datetime(2026, 3, 29, tzinfo=UTC)),
        ("", None),
        (None, None),
    ],
    ids=repr,
)
def test_a_time_means_the_same_everywhere(given_time, meant):
    assert clock.moment(given_time, name="as_of") == meant


@pytest.mark.parametrize(
    "given_time",
    [
        "2026-03-29T02:30:00",
        datetime(2026, 3, 29),  # noqa: DTZ001
        "yesterday",
        "29.03.2026",
        "2026-02-30",
        "2026-13-01",
        "10000-01-01",
        "0001-01-01T00:00:00+09:00",
        "9999-12-31T23:59:59-09:00",
        "1767225600",
        "\x00",
        "\ud800",
        "🦜",
        "2026-03-29T02:30:00+99:00",
        " ",
    ],
    ids=repr,
)
def test_a_time_without_an_offset_and_garbage_are_refused(given_time):
    with pytest.raises(Rejected):
        clock.moment(given_time, name="as_of")


@given(st.text())
def test_any_text_is_a_time_or_refused(text):
    try:
        meant = clock.moment(text, name="as_of")
    except Rejected:
        return
    assert meant is None or meant.utcoffset() == timedelta()


@pytest.mark.django_db
@pytest.mark.parametrize("moment", ["2026-03-29T02:30:00", "soon"])
def test_every_reader_refuses_a_time_that_cannot_be_meant(moment):
    with pytest.raises(Rejected):
        recall(Question(query="x", as_of=moment))
    with pytest.raises(Rejected):
        listing.page(Filters(scope="default", as_of=moment))


@pytest.mark.usefixtures("_abroad")
def test_a_memory_is_recalled_right_after_it_was_stored(remembered):
    for number in range(20):
        remembered(f"the cap number {number} holds")

        assert recall(Question(query=f"cap {number}", mode="search")).items


@pytest.mark.usefixtures("_abroad")
def test_a_ttl_runs_in_seconds_whatever_the_time_zone(remembered, freeze):
    freeze("2026-03-29T00:30:00+00:00")  # an hour later Berlin's clocks go forward
    memory = remembered("the cap is off", ttl_seconds=3600)

    freeze("2026-03-29T01:29:59+00:00")
    assert recall(Question(query="cap")).items
    freeze("2026-03-29T01:30:00+00:00")
    assert not recall(Question(query="cap")).items
    assert memory.expires_at == datetime(2026, 3, 29, 1, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("valid_from", "meant"),
    [
        ("2026-03-29T12:00:59Z", NOON),
        ("2026-03-29T21:00:00+09:00", NOON),
        ("2026-03-29", "2026-03-29T00:00:00+00:00"),
        ("1970-01-01", "1970-01-01T00:00:00+00:00"),
    ],
)
def test_a_memory_may_be_dated_back_and_a_minute_ahead_counts_as_now(remembered, freeze, valid_from, meant):
    freeze(NOON)

    assert remembered("the cap is 9k", valid_from=valid_from).valid_from == datetime.fromisoformat(meant)


@pytest.mark.django_db
@pytest.mark.parametrize(
    "valid_from", ["2026-03-29T12:01:01Z", "2026-03-30", "9999-12-31", "2026-03-29T05:02:00-07:00"]
)
def test_a_memory_of_the_future_is_refused(freeze, valid_from):
    freeze(NOON)

    with pytest.raises(Rejected):
        remember(Draft(content="the cap is 9k", valid_from=valid_from))
    assert not Memory.objects.exists()


def test_as_of_is_the_time_in_which_it_was_true_whenever_it_was_stored(remembered, freeze):
    freeze(NOON)
    old = remembered("the cap is 3k", valid_from="2026-01-01")
    remembered("the cap is 9k", valid_from="2026-02-01", supersedes=[old.uid])

    assert true_at("2025-12-31") == []
    assert true_at("2026-01-01") == ["the cap is 3k"]
    assert true_at("2026-01-31T23:59:59.999999Z") == ["the cap is 3k"]
    assert true_at("2026-02-01") == ["the cap is 9k"]
    assert true_at("2026-02-01T08:59:59+09:00") == ["the cap is 3k"]
    assert true_at("9999-12-31") == ["the cap is 9k"]
    assert true_at(None) == ["the cap is 9k"]


def test_a_corrected_memory_was_never_true(remembered, freeze):
    freeze(NOON)
    wrong = remembered("the cap is 3k", valid_from="2026-01-01")
    remembered("the cap is 4k", supersedes=[wrong.uid], correction=True)

    assert true_at("2026-01-01") == true_at("2026-02-01") == true_at(None) == ["the cap is 4k"]


def test_forgotten_and_expired_memories_are_in_no_answer_at_any_time(remembered, freeze):
    freeze(NOON)
    Memory.objects.filter(pk=remembered("the cap was forgotten").pk).update(deleted_at=clock.now())
    remembered("the cap had an end", ttl_seconds=60)
    freeze("2026-03-29T12:02:00+00:00")

    for moment in ("2026-03-29T12:00:30Z", "2026-03-29T12:02:00Z", "9999-12-31"):
        assert true_at(moment) == []
        assert listing.page(Filters(scope="default", as_of=moment)).total == 0


def test_the_date_of_an_entry_is_the_one_from_which_it_is_true(remembered, freeze):
    freeze(NOON)
    remembered("the cap is 3k", valid_from="2026-01-31")

    assert "[fact, 2026-01-31]" in recall(Question(query="cap")).block.text


@pytest.mark.skipif(os.name == "nt", reason="has no tzset")
@pytest.mark.usefixtures("_abroad")
def test_a_date_in_a_filter_is_a_day_in_utc(remembered, freeze):
    freeze(NOON)
    remembered("the cap is 3k", valid_from="2026-01-01T00:00:00Z")

    assert listing.page(Filters(scope="default", as_of="2026-01-01")).total == 1
    assert listing.page(Filters(scope="default", as_of="2025-12-31T23:59:59Z")).total == 0
