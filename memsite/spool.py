"""What hooks wrote down while the service was away: read once, remembered, and gone from the disk."""

import contextlib
import json
import logging
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import DatabaseError
from filelock import FileLock, Timeout

from memories import clock, stated
from memories.cleaning import content_hash
from memories.draft import Draft, readable
from memories.errors import MemoriesError
from memories.models import Memory, Source
from memories.remember import remember
from memsite import background
from memsite.env import beside
from memsite.harnesses.spooled import lock

EVERY_SECONDS = 60.0
SOURCES = (Source.CHAT.value, Source.COMPACTION.value)
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class SpoolState:
    """What waits to be remembered."""

    lines: int = 0
    bytes: int = 0


@dataclass(frozen=True)
class Drained:
    """`refused` lines were broken, or nothing that may be kept."""

    kept: int = 0
    refused: int = 0


def path() -> Path:
    """Where hook.py writes: beside the discovery file, as it knows no other place."""
    discovery: Path = settings.MEMORY.discovery or beside(settings.MEMORY.database, ".server.json")
    return discovery.with_name(discovery.name.removesuffix(".server.json") + ".spool.jsonl")


def _draining() -> Path:
    return path().with_suffix(".draining")


def spool_state() -> SpoolState:
    lines = size = 0
    for file in (path(), _draining()):
        with contextlib.suppress(OSError):
            content = file.read_bytes()
            lines, size = lines + content.count(b"\n"), size + len(content)
    return SpoolState(lines, size)


def drain() -> Drained:
    """Remember every line, each once, also if an earlier drain was killed. Another process may be at it: then nothing.

    Raises MemoriesError or DatabaseError if the database fails; the lines stay then.
    """
    if not path().exists() and not _draining().exists():
        return Drained()
    kept = refused = 0
    with contextlib.suppress(Timeout), FileLock(path().with_suffix(".lock"), timeout=0, mode=0o600):
        for file in _taken():
            results = [_keep(line) for line in _lines(file)]
            kept, refused = kept + results.count(True), refused + results.count(False)
            _erase(file)
    return Drained(kept, refused)


def _taken() -> Iterator[Path]:
    """What a killed drain left behind, then what was written since."""
    taken = _draining()
    if taken.exists():
        yield taken
    with contextlib.suppress(FileNotFoundError):
        path().replace(taken)
        yield taken


def _lines(file: Path) -> list[bytes]:
    handle = os.open(file, os.O_RDWR | os.O_NOFOLLOW)
    with os.fdopen(handle, "rb") as content:
        lock(handle)  # a hook that opened it before it was renamed finishes first
        return content.read().splitlines()


def _keep(line: bytes) -> bool:
    try:
        given = json.loads(line)
        now = clock.now()
        at = min(clock.moment(given["at"], name="at") or now, now)
        draft = _draft(given, at=at)
        if not _is_kept(draft, at=at):
            remember(draft)
    except MemoriesError as error:
        if error.status >= 500:
            raise
        log.info("A spooled line was not kept: %s", error)
        return False
    except (ValueError, KeyError, TypeError):
        log.warning("A spooled line cannot be read.")
        return False
    return True


def _draft(line: dict[str, Any], *, at: datetime) -> Draft:
    if line["source"] not in SOURCES:
        raise ValueError(line["source"])
    content = str(line["content"])
    return Draft(
        content=content,
        source=line["source"],
        kind=stated.kind_of(content) if line["source"] == Source.CHAT else None,
        cwd=str(line.get("cwd", "")),
        harness=str(line.get("harness", "")),
        session=str(line.get("session", "")),
        valid_from=at,
    )


def _is_kept(draft: Draft, *, at: datetime) -> bool:
    """Whether a drain that was killed remembered it: what a person forgot since then does not come back."""
    text, _redacted = readable(draft.content)
    same = Memory.objects.filter(content_hash=content_hash(text), valid_from=at)
    return same.filter(harness=draft.harness, session=draft.session).exists()


def _erase(file: Path) -> None:
    """Overwritten before it is removed: what a person forgets later must be nowhere on the disk."""
    with file.open("r+b") as content:
        content.write(b"\0" * file.stat().st_size)
        content.flush()
        os.fsync(content.fileno())
    file.unlink()


def scrub() -> None:
    """Before a purge: what waits is remembered and erased here, so that no copy outlives its memory."""
    try:
        drain()
    except (MemoriesError, DatabaseError):
        log.exception("The spool of the hooks could not be drained.")


def drain_for_ever(stop: threading.Event | None = None) -> None:
    """At once and then every minute."""
    stop = stop or threading.Event()
    one_round = background.logged(_drain_and_tell, name="draining the spool of the hooks")
    while True:
        one_round()
        if stop.wait(EVERY_SECONDS):
            return


def _drain_and_tell() -> None:
    drained = drain()
    if drained.kept or drained.refused:
        log.info("Drained the spool of the hooks: %s kept, %s refused.", drained.kept, drained.refused)
