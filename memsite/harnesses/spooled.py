"""What hook.py writes down while no service answers; `memsite.spool` drains it. Standard library only."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from memories.cleaning import clean
from memories.secrets import redact
from memsite.harnesses import named
from memsite.harnesses.asked import asked_to_keep
from memsite.harnesses.base import Event, Harness, Json, typed
from memsite.harnesses.transcripts import Tail, pieces, turns

type Line = dict[str, str]


def lines(name: str, event: str, raw: Json, transcript: Mapping[str, Any] | None) -> Iterator[Line]:
    """What a prompt asks to remember, or a transcript would lose; never a prompt itself. Raises NotFound."""
    harness = named(name)
    place = {
        "at": datetime.now(UTC).isoformat(),
        "harness": harness.name,
        "session": harness.session(raw),
        "cwd": harness.cwd(raw),
    }
    if harness.event(raw, event) is Event.PROMPT:
        texts, source = _asked(harness, raw), "chat"
    else:
        texts, source = _compacted(harness, raw, transcript), "compaction"
    for text in texts:
        yield {**place, "source": source, "content": text}


def _asked(harness: Harness, raw: Json) -> list[str]:
    text = clean(typed(harness.prompt(raw)))
    return [_redacted(one) for one in asked_to_keep(text)]


def _compacted(harness: Harness, raw: Json, transcript: Mapping[str, Any] | None) -> list[str]:
    if not harness.is_compaction(raw):
        return []
    said = turns(harness, Tail(**transcript).text) if transcript else harness.messages(raw)
    return pieces(said, redact=_redacted)


def _redacted(text: str) -> str:
    return redact(text)[0]


def append(path: str, new: Iterable[Line], *, largest: int) -> None:
    """Append lines to a private file; what would make it larger than `largest` bytes is left out."""
    written = [json.dumps(line).encode() + b"\n" for line in new]
    if not written:
        return
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    handle = _locked(path)
    try:
        room = largest - os.fstat(handle).st_size
        for line in written:
            room -= len(line)
            if room < 0:
                break
            os.write(handle, line)
    finally:
        os.close(handle)


def _locked(path: str) -> int:
    """The file, open for this process alone. It may have been taken away by the service between opening and locking."""
    while True:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
        handle = os.open(path, flags, 0o600)
        lock(handle)
        try:
            if os.path.samestat(os.fstat(handle), os.stat(path)):
                return handle
        except FileNotFoundError:
            pass
        os.close(handle)


def lock(handle: int) -> None:
    try:
        import fcntl  # noqa: PLC0415 - not on Windows
    except ImportError:
        return
    fcntl.flock(handle, fcntl.LOCK_EX)
