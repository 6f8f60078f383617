"""Dates by which a text says when it was written."""

import pytest

from memories.draft import Draft
from memories.remember import remember
from memories.truth.dates import undated


@pytest.mark.parametrize(
    "date",
    [
        "(1:56 pm on 8 May, 2023)",
        "[2026-11-30 10:00]",
        "(2026-11-30T10:00:00Z)",
        "[Mon, 8 May 2023, 13:56 UTC]",
        "(June 3rd 2024)",
    ],
)
def test_a_date_in_brackets_at_either_end_is_left_out(date: str) -> None:
    assert undated(f"{date} The owl is awake.") == " The owl is awake."
    assert undated(f"The owl is awake. {date}\n") == "The owl is awake. "


@pytest.mark.parametrize(
    "text",
    [
        "Backups run nightly (03:00 UTC)",
        "The server listens locally (port 8080)",
        "The release is on 8 May 2023.",
        "The owl (seen on 8 May 2023) is awake.",
        "The freeze ends in spring (8 May)",
        "(see 2026-11-30) The owl is awake.",
    ],
)
def test_what_may_be_a_value_stays(text: str) -> None:
    assert undated(text) == text


@pytest.mark.django_db
def test_texts_of_different_days_do_not_contradict_each_other() -> None:
    remember(Draft(content="Ann: the owl sleeps in the tall barn (1:56 pm on 8 May, 2023)", project="p"))
    later = remember(Draft(content="Ann: the owl sleeps in the tall barn (4:31 pm on 9 June, 2023)", project="p"))
    assert later.status == "created"
    assert later.conflicts == ()
