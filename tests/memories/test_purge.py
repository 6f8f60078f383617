"""What was forgotten or has expired leaves the disk for good."""

import contextlib
import random
import sqlite3
import string
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import NoReturn

import pytest
from django.db import connection
from django.utils import timezone

from memories import lifecycle
from memories.errors import NotFound, StoreUnavailable
from memories.lifecycle import Selection
from memories.models import AuditEntry, Conflict, Memory, Passage
from memories.remember import Draft, remember
from memories.truth.chains import chain_of
from telemetry import injections, retention
from telemetry.models import Injection
from tests.memories.conftest import Versions, found

pytestmark = pytest.mark.django_db
NOON = "2026-03-29T12:00:00+00:00"


def database() -> Path:
    return Path(connection.settings_dict["NAME"])


def bytes_on_disk() -> bytes:
    files = [database().with_name(database().name + end) for end in ("", "-wal", "-journal")]
    return b"".join(file.read_bytes() for file in files if file.exists())


@contextlib.contextmanager
def reader() -> Iterator[None]:
    """Somebody who is in the middle of reading."""
    with contextlib.closing(sqlite3.connect(database(), isolation_level=None)) as other:
        other.execute("BEGIN")
        other.execute("SELECT count(*) FROM memories_memory").fetchall()
        yield


def test_a_purge_takes_what_is_forgotten_or_expired_and_keeps_history(
    remembered: Callable[..., Memory], freeze: Callable[[str], datetime], versions: Versions
) -> None:
    freeze(NOON)
    gone, _timed, _captured = (
        remembered("gone"),
        remembered("timed", ttl_seconds=60),
        remembered("captured", source="tool"),
    )
    remembered("kept")
    pinned = [remembered("pinned", ttl_seconds=60, pinned=True), remembered("held", source="tool", pinned=True)]
    lifecycle.forget(gone.uid, actor="ada")
    freeze("2026-09-29T12:00:00+00:00")

    purged = lifecycle.purge(actor="ada")

    assert (purged.forgotten, purged.expired) == (1, 2)
    assert set(Memory.objects.values_list("content", flat=True)) == {
        "kept",
        *(one.content for one in (*pinned, *versions)),
    }
    entry = AuditEntry.objects.get(action="purge")
    assert (entry.actor, entry.detail) == ("ada", {"forgotten": 1, "expired": 2})


def test_a_purge_takes_passages_and_conflicts_along(remembered: Callable[..., Memory]) -> None:
    gone, kept = remembered("the cap is 1k"), remembered("the cap is 2k")
    Passage.objects.create(memory=gone, position=0, start=0, end=1, vector=b"", model="m", text_hash="h")
    assert Conflict.objects.filter(older=gone, newer=kept).exists()
    lifecycle.forget(gone.uid, actor="ada")

    lifecycle.purge(actor="ada")

    assert not Passage.objects.exists()
    assert not Conflict.objects.exists()


def test_purging_a_successor_keeps_what_it_replaced(versions: Versions) -> None:
    first, second, third = versions
    lifecycle.forget(third.uid, actor="ada")

    lifecycle.purge(actor="ada")

    second.refresh_from_db()
    assert (second.superseded_by, second.valid_to is None) == (None, False)
    assert chain_of(second) == [first, second]


def test_what_was_purged_cannot_be_restored(remembered: Callable[..., Memory]) -> None:
    memory = remembered("the parrot sleeps")
    lifecycle.forget(memory.uid, actor="ada")
    lifecycle.purge(actor="ada")

    with pytest.raises(NotFound):
        lifecycle.restore(memory.uid, actor="ada")


def test_other_holders_are_told_what_is_purged_in_the_same_transaction(remembered: Callable[..., Memory]) -> None:
    gone = remembered("the parrot sleeps")
    lifecycle.forget(gone.uid, actor="ada")
    told = []

    def scrub(uids: Sequence[str]) -> None:
        told.append((list(uids), connection.in_atomic_block, Memory.objects.filter(uid__in=uids).exists()))

    lifecycle.purge(actor="ada", scrub=[scrub, scrub])

    assert told == [([gone.uid], True, False)] * 2


@pytest.mark.django_db(transaction=True)
def test_a_holder_that_fails_keeps_the_memories(remembered: Callable[..., Memory]) -> None:
    gone = remembered("the parrot sleeps")
    lifecycle.forget(gone.uid, actor="ada")

    def broken(_uids: Sequence[str]) -> NoReturn:
        raise StoreUnavailable("no")

    with pytest.raises(StoreUnavailable):
        lifecycle.purge(actor="ada", scrub=[broken])
    assert lifecycle.restore(gone.uid, actor="ada").uid == gone.uid


@pytest.mark.django_db(transaction=True)
def test_a_purge_without_anything_to_do_costs_nothing(remembered: Callable[..., Memory]) -> None:
    remembered("kept")

    assert lifecycle.purge(actor="ada").scrubbed
    assert "purge" not in AuditEntry.objects.values_list("action", flat=True)


def _invented(number: int) -> str:
    letters = random.Random(number)
    if number % 2:
        return "".join(letters.choice("龘靐齉爩鱻麤龗灪吁麣鸾鹂鲡驫鹳虋讟钃鸜纞") for _ in range(8))
    return "".join(letters.choice(string.ascii_lowercase) for _ in range(12))


def _left_of(words: list[str]) -> list[str]:
    disk = bytes_on_disk().lower()
    ends = {word: word[-4:] if ord(word[0]) > 127 else word[-8:] for word in words}
    return [word for word in words if word.encode() in disk or ends[word].encode() in disk]


def _forget_invented_words() -> list[str]:
    words = [_invented(number) for number in range(200)]
    for word in words:
        uid = remember(Draft(content=f"the bird is called {word} in the zoo", tags=["bird"])).uid
        assert uid
        injections.report(injections.Report(scope="default", query=f"what about {word}?", uids=[uid], harness="codex"))
        lifecycle.forget(uid, actor="ada")
    assert len(_left_of(words)) == len(words)
    return words


@pytest.mark.django_db(transaction=True)
def test_no_byte_of_a_purged_memory_is_left_on_disk(remembered: Callable[..., Memory]) -> None:
    for number in range(50):
        remembered(f"a kept memory about birds, number {number}")
    words = _forget_invented_words()

    purged = lifecycle.purge(actor="ada", scrub=[retention.forget_queries])

    assert (purged.forgotten, purged.scrubbed, purged.reason) == (200, True, "")
    assert _left_of(words) == []
    assert len(found("birds kept", limit=50)) == 50
    assert set(Injection.objects.values_list("query", flat=True)) == {""}
    assert lifecycle.problems() == []


@pytest.mark.django_db(transaction=True)
def test_with_a_reader_in_the_way_the_next_purge_finishes_the_work() -> None:
    words = _forget_invented_words()

    with reader():
        purged = lifecycle.purge(actor="ada", scrub=[retention.forget_queries])
        assert (purged.forgotten, purged.scrubbed) == (200, False)
        assert purged.reason
        assert _left_of(words)

    again = lifecycle.purge(actor="ada")
    assert (again.forgotten, again.scrubbed) == (0, True)
    assert _left_of(words) == []


@pytest.mark.django_db(transaction=True)
def test_a_purge_that_was_interrupted_is_finished_by_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    words = _forget_invented_words()

    def killed() -> NoReturn:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(lifecycle, "_scrub", killed)
        with pytest.raises(KeyboardInterrupt):
            lifecycle.purge(actor="ada", scrub=[retention.forget_queries])

    assert lifecycle.purge(actor="ada").scrubbed
    assert _left_of(words) == []


@pytest.mark.django_db(transaction=True)
def test_000_memories_can_be_forgotten_and_purged_at_once() -> None:
    now = timezone.now()
    rows = (
        Memory(scope="default", content=f"note {number}", content_hash=str(number), valid_from=now)
        for number in range(40_000)
    )
    Memory.objects.bulk_create(rows, batch_size=2000)
    steps = []

    lifecycle.forget_all(Selection(scope="default").memories(), actor="ada")
    purged = lifecycle.purge(
        actor="ada", scrub=[retention.forget_queries], progress=lambda done, total: steps.append((done, total))
    )

    assert (purged.forgotten, purged.scrubbed) == (40_000, True)
    assert not Memory.objects.exists()
    assert steps == sorted(steps)
    assert steps[-1] == (40_000, 40_000)


@pytest.mark.django_db(transaction=True)
def test_a_purge_closes_the_chain_over_the_version_it_removes(remembered: Callable[..., Memory]) -> None:
    first = remembered("We deploy on Mondays.")
    second = remembered("We deploy on Tuesdays.", supersedes=[first.uid])
    third = remembered("We deploy on Fridays.", supersedes=[second.uid])
    lifecycle.forget(second.uid, actor="me")
    lifecycle.purge(actor="me")
    assert [one.uid for one in chain_of(third)] == [first.uid, third.uid]


def test_what_is_restored_while_a_purge_is_at_work_stays(
    remembered: Callable[..., Memory], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lifecycle, "BATCH", 1)
    first, second = remembered("the first"), remembered("the second")
    lifecycle.forget(first.uid, actor="ada")
    lifecycle.forget(second.uid, actor="ada")

    def restore(uids: Sequence[str]) -> None:
        if first.uid in uids:
            lifecycle.restore(second.uid, actor="ada")

    lifecycle.purge(actor="ada", scrub=[restore])

    assert list(Memory.objects.values_list("content", flat=True)) == ["the second"]
