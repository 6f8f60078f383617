"""What two texts say against each other."""

import pytest

from memories.truth.cues import changes, negated, past
from memories.truth.evidence import evidence
from memories.truth.likeness import Rarity

CONTRADICTING = [
    ("The service uses Postgres", "We migrated from Postgres to MySQL", "change"),
    ("The cap is 3.3k", "The cap is 9k", "number"),
    ("Uploads are limited to 5 MB", "Uploads are limited to 20 MB", "number"),
    ("The worker retries failed webhooks", "The worker no longer retries failed webhooks", "change"),
    ("We commit the lock file", "We do not commit the lock file", "negation"),
    ("The session store is Redis", "The session store is Postgres", "value"),
    ("The flag checkout_v2 is enabled", "The flag checkout_v2 is disabled", "change"),
    ("Die Sitzungen liegen in Redis", "Die Sitzungen liegen nicht mehr in Redis, sondern in Postgres", "change"),
    ("部署使用 Jenkins 流水线", "部署流水线已改用 GitHub Actions", "change"),
    ("Les sessions vivent dans Redis", "Les sessions ne vivent plus dans Redis", "change"),
    ("Las sesiones viven en Redis", "Las sesiones ya no viven en Redis", "change"),
    ("Datasets are on the NFS share", "Datasets are read from S3; NFS was the bottleneck at eight workers", "change"),
    ("Mira owns the editor", "Ravi took the editor over", "change"),
    ("The key is sent in a header", "Since March the key is sent in a cookie", "change"),
    ("Deleted notes stay in the bin for thirty days", "The bin holds deleted notes for 7 days", "number"),
    ("The watchdog resets after 30 seconds", "Watchdog time-out: 8 s", "number"),
    ("Les images partent en JPEG", "Les images partent en AVIF depuis la version 4", "change"),
    ("Die Hilfe liegt in docs/man", "docs/man ist Geschichte, die Hilfe entsteht beim Bauen", "change"),
    ("Сессии хранятся в Redis", "Сессии больше не хранятся в Redis", "change"),
]
COMPATIBLE = [
    (
        "We moved sessions from Redis to the database.",
        "The deploy target of billing is no longer Heroku, we moved to Fly.io.",
    ),
    ("always make a worktree", "never touch others' worktrees"),
    ("The API is written in Go", "The CLI is written in Go"),
    ("The port of the API is 8080", "The port of the proxy is 9090"),
    ("Run the tests with pytest", "Run the linter with ruff"),
    ("Note 1", "Note 2"),
    ("The deploy runs on Monday", "Lunch moved to noon"),
    ("Commits are signed", "Commits are small"),
    ("Old rows are kept by the worker", "Rows of the worker are removed after a week"),
    ("Backups are kept for 7 days", "A release takes 2 days"),
    ("The overlay of the page is blue", "The split-view overlay is green"),
]


@pytest.mark.parametrize(("older", "newer", "kind"), CONTRADICTING)
def test_a_text_that_ends_another_one_says_so(older: str, newer: str, kind: str) -> None:
    found = evidence(older, newer)
    assert found
    assert found.said.startswith(kind)
    assert 0 < found.likeness <= 1


@pytest.mark.parametrize(("older", "newer"), COMPATIBLE)
def test_texts_that_merely_share_words_are_compatible(older: str, newer: str) -> None:
    assert evidence(older, newer) is None


def test_a_long_text_tells_of_a_change_only_where_it_speaks_of_much_else_of_the_older_one() -> None:
    noise = "The minutes of the meeting go on about lunch and tea. " * 20
    assert evidence("The service uses Postgres", f"{noise} The service moved from Postgres to MySQL. {noise}")
    assert evidence("The service uses Postgres for sessions, jobs and reports", f"{noise} Lunch moved. {noise}") is None


def test_a_sentence_in_a_long_memory_can_be_ended() -> None:
    minutes = "Lunch is at noon. " * 60 + "The session store is Redis on port 6379. " + "Tea is at four. " * 60
    assert evidence(minutes, "The session store moved from Redis to Postgres")


def test_near_vectors_make_up_for_words() -> None:
    older, newer = (
        "Uplinks are pinned to DR3 as the payload is too long for less",
        "ADR is enabled again, DR3 was removed",
    )
    assert evidence(older, newer, near=True)


def test_an_instruction_is_no_change() -> None:
    assert changes("The base image must not be changed") == ()
    assert changes("The base image was changed") == ("changed",)


def test_a_habit_is_no_change() -> None:
    assert changes("Old images are removed at night") == ()
    assert changes("The old-images job is rotated") == ()
    assert changes("The images were removed") == ("removed",)
    assert changes("The images are replaced by icons") == ("replaced by",)


def test_what_something_was_is_told_of_its_subject() -> None:
    assert past("`price_minor` was an integer") == (("price_minor", "price_minor was"),)
    assert past("The price is an integer") == ()


def test_what_something_was_counts_only_where_it_is_asked_for() -> None:
    older, newer = "Liveness restarts cold services", "Cold services again: liveness fired too early"
    assert evidence(older, newer)
    assert evidence(older, newer, past=False) is None


def test_an_incident_that_is_told_again_is_no_change() -> None:
    older = "The liveness probe started too early and cold services hung in a loop"
    newer = "Again a cold service in a restart loop: liveness fired too early"
    assert evidence(older, newer) is None
    assert evidence("The liveness probe restarts cold services that hang in a loop", newer)


def test_words_that_many_of_the_compared_texts_have_are_no_evidence() -> None:
    older, newer = "The billing service runs on Heroku", "The search service was rewritten"
    others = [f"The service number {number} is watched" for number in range(18)]
    assert evidence(older, newer)
    assert evidence(older, newer, rarity=Rarity([older, *others])) is None
    assert evidence("The search service runs on Solr", newer, rarity=Rarity([older, *others]))


def test_two_negations_affirm() -> None:
    assert negated("It is not there")
    assert not negated("It is not never there")
    assert negated("不要提交锁文件")


def test_evidence_is_linear_in_hostile_text() -> None:
    assert evidence("a " * 200_000, "no longer " * 50) is None
