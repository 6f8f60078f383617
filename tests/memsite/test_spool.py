"""What hooks wrote down while the service was away."""

import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.db import OperationalError
from filelock import FileLock

from memories import lifecycle
from memories.models import Memory
from memsite import maintenance, spool
from memsite.harnesses import spooled
from memsite.spool import Drained, SpoolState
from tests.planted import SECRETS

pytestmark = pytest.mark.django_db(transaction=True)
AT = "2026-03-01T10:00:00+00:00"


def line(content: str, **fields: str) -> dict[str, str]:
    return {"at": AT, "harness": "claude", "session": "s1", "cwd": "", "source": "chat", "content": content, **fields}


@pytest.fixture(autouse=True)
def place(tmp_path: Path, configure: Callable[..., None]) -> Path:
    configure(discovery_file=str(tmp_path / "data/memory.db.server.json"))
    return tmp_path / "data/memory.db.spool.jsonl"


def write(place: Path, *lines: object) -> None:
    spooled.append(str(place), lines, largest=10_000_000)  # type: ignore[arg-type]


def contents() -> list[str]:
    return list(Memory.objects.live().order_by("pk").values_list("content", flat=True))


def test_lines_become_memories_that_hold_since_they_were_said(place: Path) -> None:
    write(
        place, line("The port is 80."), line("User: the cart lives in Redis", source="compaction", cwd="/w/acme/shop")
    )
    assert oct(place.stat().st_mode & 0o777) == "0o600"
    assert spool.spool_state() == SpoolState(2, place.stat().st_size)
    assert spool.drain() == Drained(kept=2)
    assert list(place.parent.glob("*.jsonl")) == list(place.parent.glob("*.draining")) == []
    assert spool.spool_state() == SpoolState()
    first, second = Memory.objects.order_by("pk")
    assert (first.content, first.source, first.kind, first.harness) == ("The port is 80.", "chat", "fact", "claude")
    assert first.valid_from.isoformat() == AT
    assert (second.source, second.kind, second.project) == ("compaction", "artifact", "acme/shop")
    assert spool.drain() == Drained()


def test_a_broken_line_keeps_no_other_out(place: Path) -> None:
    write(place, line("one thing"), [], {"content": "no time"}, line("x", source="mcp"), line(" "), line("another"))
    with place.open("a") as file:
        file.write('{"at": "2026-')
    assert spool.drain() == Drained(kept=2, refused=5)
    assert contents() == ["one thing", "another"]
    assert not place.exists()


def test_what_a_person_asked_to_keep_has_the_kind_that_it_states(place: Path) -> None:
    write(place, line("I prefer tabs over spaces in Makefiles."), line("make prefers tabs", source="compaction"))
    spool.drain()
    assert list(Memory.objects.order_by("pk").values_list("kind", flat=True)) == ["preference", "artifact"]


def test_a_clock_that_runs_ahead_loses_nothing(place: Path) -> None:
    write(place, line("The port is 80.", at="2199-01-01T00:00:00+00:00"))
    assert spool.drain() == Drained(kept=1)


def test_while_the_database_fails_the_lines_stay(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(place, line("one thing"), line("another"))

    def fail(*_: object) -> None:
        raise OperationalError("database is locked")

    with monkeypatch.context() as patch:
        patch.setattr(spool, "remember", fail)
        with pytest.raises(OperationalError):
            spool.drain()
        spool.scrub()
    assert spool.spool_state().lines == 2
    write(place, line("a third"))
    assert spool.spool_state().lines == 3
    assert spool.drain() == Drained(kept=3)
    assert contents() == ["one thing", "another", "a third"]


class Killed(BaseException):
    pass


@pytest.mark.parametrize("step", ["rename", "first", "all"])
def test_a_drain_that_was_killed_is_finished_and_nothing_comes_twice_or_back(
    place: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    write(place, line("one thing"), line("another"))
    really = spool.remember
    told: list[Any] = []

    def dying(draft: Any) -> Any:
        if step == "rename" or (step == "first" and told):
            raise Killed
        told.append(draft)
        return really(draft)

    def die(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(spool, "remember", dying)
        patch.setattr(spool, "_erase", die)
        with pytest.raises(Killed):
            spool.drain()
    if step != "rename":
        lifecycle.forget(Memory.objects.get(content="one thing").uid, actor="me")
    assert spool.drain() == Drained(kept=2)
    assert contents() == (["one thing", "another"] if step == "rename" else ["another"])
    assert Memory.objects.count() == 2


def test_of_two_processes_one_drains(place: Path) -> None:
    write(place, line("one thing"))
    with FileLock(place.with_suffix(".lock")):
        assert spool.drain() == Drained()
    assert spool.drain() == Drained(kept=1)


def test_what_is_forgotten_leaves_no_bytes_in_the_spool(place: Path) -> None:
    write(place, line("The parrot is turquoise."))
    link = place.with_name("same")
    os.link(place, link)  # the bytes of the file after it was removed
    maintenance.purge(actor="me")
    assert b"turquoise" not in link.read_bytes()
    assert contents() == ["The parrot is turquoise."]


def test_no_more_is_written_than_there_is_room_for(place: Path) -> None:
    for _ in range(10):
        spooled.append(str(place), [line("x" * 100)], largest=1000)
    assert 500 < place.stat().st_size <= 1000


def test_a_line_written_while_the_file_is_taken_away_is_not_lost(place: Path) -> None:
    write(place, line("one thing"))
    handle = os.open(place, os.O_WRONLY)
    spooled.lock(handle)
    writer = threading.Thread(target=write, args=(place, line("another")))
    writer.start()  # it waits for the lock of a file that is renamed meanwhile
    place.replace(place.with_suffix(".draining"))
    os.close(handle)
    writer.join(10)
    assert spool.drain() == Drained(kept=2)


def test_it_is_drained_at_once_and_then_again_and_again(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stop, seen = threading.Event(), []

    def drain() -> Drained:
        seen.append(1)
        if len(seen) == 1:
            raise OperationalError("database is locked")
        if len(seen) == 3:
            stop.set()
        return Drained(kept=1)

    monkeypatch.setattr(spool, "drain", drain)
    monkeypatch.setattr(spool, "EVERY_SECONDS", 0.01)
    spool.drain_for_ever(stop)
    assert len(seen) == 3


class TestWritten:
    """What hook.py makes of an event."""

    def lines(self, event: str, raw: dict[str, Any], transcript: Any = None, name: str = "claude") -> list[str]:
        found = list(spooled.lines(name, event, {"session_id": "s1", "cwd": "/w/a/b", **raw}, transcript))
        assert all(one.keys() == line("").keys() for one in found)
        return [one["content"] for one in found]

    def test_a_prompt_is_never_written_only_what_it_asks_to_remember(self) -> None:
        secret = SECRETS["aws"]
        said = f"Remember that the key is {secret}. When does it rotate?"
        assert self.lines("UserPromptSubmit", {"prompt": said}) == ["the key is [redacted:aws-access-key]."]
        assert self.lines("UserPromptSubmit", {"prompt": "when does the key rotate?"}) == []

    def test_a_transcript_is_written_in_pieces_without_our_blocks(self) -> None:
        text = "".join(
            json.dumps({"type": "user", "message": {"role": "user", "content": content}}) + "\n"
            for content in ("the cart lives in Redis", "<semantic-memory>\n- old news of the day\n</semantic-memory>")
        )
        assert self.lines("PreCompact", {}, {"start": 0, "text": text}) == ["User: the cart lives in Redis"]

    def test_messages_of_the_plugin_are_written_too(self) -> None:
        messages = [{"role": "user", "text": "the cart lives in Redis"}]
        assert self.lines("PreCompact", {"messages": messages}, name="opencode") == ["User: the cart lives in Redis"]

    def test_what_may_not_be_a_compaction_is_not_written(self) -> None:
        assert self.lines("PreCompact", {"trigger": "auto"}, {"start": 0, "text": "{}\n"}, name="gemini") == []
