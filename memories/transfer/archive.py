"""The own format: JSON lines in UTF-8. A header, then memories in the order they were stored, then conflicts."""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memories.cleaning import content_hash
from memories.clock import moment, past
from memories.conf import config
from memories.draft import labels, one_of, readable, remark
from memories.errors import Rejected
from memories.models import Conflict, Kind, Memory, Reason, Source, Tier
from memories.places import label
from memories.querysets import ANY_PROJECT
from memories.search.scripts import segments

FORMAT = "memsite"
VERSION = 1
HISTORY = "history"
EXPIRED = "expired"
"""What an archive holds: all that is kept, or what a purge removed because its time was over."""
MOST_COUNTED = 2**31 - 1

_UID = re.compile(r"[0-9a-f]{32}")
_LABELS = ("harness", "session", "actor")
_TIMES = ("last_accessed_at", "last_injected_at", "created_at", "updated_at", "valid_from", "valid_to", "expires_at")
_COUNTS = ("access_count", "injection_count")
_LATER = frozenset({"valid_to", "expires_at"})
"""Times that may lie ahead."""


@dataclass(frozen=True)
class MemoryEntry:
    """A memory that is not saved yet, and the uid of what superseded it."""

    memory: Memory
    successor: str
    redacted: tuple[str, ...]

    @property
    def scope(self) -> str:
        return self.memory.scope


@dataclass(frozen=True)
class ConflictEntry:
    """A conflict that is not saved yet, between two uids of a scope."""

    conflict: Conflict
    scope: str
    older: str
    newer: str


def header(holds: str) -> str:
    return _line({"format": FORMAT, "version": VERSION, "holds": holds})


def memory_line(memory: Memory, *, successor: str) -> str:
    fields = {name: getattr(memory, name) for name in ("uid", "scope", "project", "kind", "tier", "source", *_LABELS)}
    fields |= {name: getattr(memory, name) for name in ("tags", "pinned", "confidence", *_COUNTS)}
    fields |= {name: _time(getattr(memory, name)) for name in _TIMES}
    fields |= {"superseded_by": successor or None, "superseded_reason": memory.superseded_reason, "run": memory.run}
    return _line({"type": "memory", **fields, "content": memory.content})


def conflict_line(conflict: Conflict) -> str:
    sides = {"scope": conflict.newer.scope, "older": conflict.older.uid, "newer": conflict.newer.uid}
    names = ("similarity", "verdict", "judge", "evidence", "reason", "decided_by")
    times = {name: _time(getattr(conflict, name)) for name in ("created_at", "decided_at")}
    return _line({"type": "conflict", **sides, **{name: getattr(conflict, name) for name in names}, **times})


def holds(value: Mapping[str, Any]) -> str:
    """What the archive of a header holds. Raises Rejected for no header and for a newer version."""
    if value.get("format") != FORMAT or not isinstance(value.get("version"), int):
        raise Rejected('The first line of an archive is {"format": "memsite", "version": 1, ...}.')
    if value["version"] > VERSION:
        raise Rejected(f"The archive has version {value['version']}; this program reads up to {VERSION}.")
    return EXPIRED if value.get("holds") == EXPIRED else HISTORY


def entry(value: Mapping[str, Any], *, now: datetime) -> MemoryEntry | ConflictEntry:
    """What a line says, checked, cleaned and redacted. Raises Rejected with one sentence."""
    if value.get("type") == "memory":
        return _memory(value, now=now)
    if value.get("type") == "conflict":
        return _conflict(value, now=now)
    raise Rejected("type is memory or conflict.")


def _memory(value: Mapping[str, Any], *, now: datetime) -> MemoryEntry:
    content, redacted = readable(_text(value, "content"))
    successor = _optional_uid(value, "superseded_by")
    times = {name: _moment(value, name, now=now) for name in _TIMES}
    created = times["created_at"] or times["valid_from"] or now
    times |= {"created_at": created, "updated_at": times["updated_at"] or created}
    times["valid_from"] = times["valid_from"] or created
    project = label(_text(value, "project"), name="project")
    if project == ANY_PROJECT:
        raise Rejected('project is a name, or "" for what holds everywhere.')
    memory = Memory(
        uid=uid_of(value, "uid"),
        scope=label(_text(value, "scope"), name="scope") or config().scope,
        project=project,
        kind=one_of(Kind, _text(value, "kind") or Kind.FACT, name="kind"),
        tier=one_of(Tier, _text(value, "tier") or Tier.EPISODIC, name="tier"),
        source=one_of(Source, _text(value, "source") or Source.IMPORT, name="source"),
        tags=labels(_texts(value, "tags")),
        pinned=_flag(value, "pinned"),
        confidence=_number(value, "confidence", default=1.0),
        superseded_reason=_reason(value),
        run=_run(value),
        content=content,
        segments=segments(content),
        content_hash=content_hash(content),
        **{name: label(_text(value, name), name=name) for name in _LABELS},
        **{name: _count(value, name) for name in _COUNTS},
        **times,
    )
    _check(memory, successor)
    return MemoryEntry(memory, successor, redacted)


def _check(memory: Memory, successor: str) -> None:
    if memory.valid_to is not None and memory.valid_to < memory.valid_from:
        raise Rejected("valid_to lies before valid_from.")
    if memory.valid_to is None and (successor or memory.superseded_reason):
        raise Rejected("What is superseded has a valid_to.")
    if successor == memory.uid:
        raise Rejected("A memory cannot be superseded by itself.")
    if not 0 <= memory.confidence <= 1:
        raise Rejected("confidence lies between 0 and 1.")


def _conflict(value: Mapping[str, Any], *, now: datetime) -> ConflictEntry:
    older, newer = uid_of(value, "older"), uid_of(value, "newer")
    if older == newer:
        raise Rejected("A conflict is between two memories.")
    verdict = _text(value, "verdict") or Conflict.Verdict.PENDING
    if verdict not in Conflict.Verdict.values:
        raise Rejected(f"verdict {verdict[:40]!r} is unknown; it is one of {', '.join(Conflict.Verdict.values)}.")
    conflict = Conflict(
        similarity=_number(value, "similarity", default=0.0),
        verdict=verdict,
        judge=label(_text(value, "judge"), name="judge"),
        evidence=remark(_text(value, "evidence")),
        reason=remark(_text(value, "reason")),
        created_at=_moment(value, "created_at", now=now) or now,
        decided_by=label(_text(value, "decided_by"), name="decided_by"),
        decided_at=_moment(value, "decided_at", now=now),
    )
    scope = label(_text(value, "scope"), name="scope") or config().scope
    return ConflictEntry(conflict, scope, older, newer)


def uid_of(value: Mapping[str, Any], name: str) -> str:
    uid = value.get(name)
    if not isinstance(uid, str) or not _UID.fullmatch(uid):
        raise Rejected(f"{name} is not the 32 hexadecimal digits of a memory.")
    return uid


def _optional_uid(value: Mapping[str, Any], name: str) -> str:
    return "" if value.get(name) in (None, "") else uid_of(value, name)


def _text(value: Mapping[str, Any], name: str) -> str:
    found = value.get(name)
    if found is None:
        return ""
    if not isinstance(found, str):
        raise Rejected(f"{name} is not a text.")
    return found


def _texts(value: Mapping[str, Any], name: str) -> list[str]:
    found = value.get(name)
    if found is None:
        return []
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise Rejected(f"{name} is not a list of texts.")
    return found


def _flag(value: Mapping[str, Any], name: str) -> bool:
    found = value.get(name, False)
    if not isinstance(found, bool):
        raise Rejected(f"{name} is neither true nor false.")
    return found


def _number(value: Mapping[str, Any], name: str, *, default: float) -> float:
    found = value.get(name, default)
    if isinstance(found, bool) or not isinstance(found, int | float) or not math.isfinite(found):
        raise Rejected(f"{name} is not a number.")
    return float(found)


def _count(value: Mapping[str, Any], name: str) -> int:
    found = value.get(name, 0)
    if isinstance(found, bool) or not isinstance(found, int) or not 0 <= found <= MOST_COUNTED:
        raise Rejected(f"{name} is not a count.")
    return found


def _moment(value: Mapping[str, Any], name: str, *, now: datetime) -> datetime | None:
    text = _text(value, name)
    return moment(text, name=name) if name in _LATER else past(text, name=name, now=now)


def _reason(value: Mapping[str, Any]) -> str:
    reason = _text(value, "superseded_reason")
    if reason and reason not in Reason.values:
        raise Rejected(f"superseded_reason {reason[:40]!r} is unknown; it is one of {', '.join(Reason.values)}.")
    return reason


def _run(value: Mapping[str, Any]) -> str:
    run = label(_text(value, "run"), name="run")
    if len(run) > 32:
        raise Rejected("run has more than 32 characters.")
    return run


def _time(when: datetime | None) -> str | None:
    return when.isoformat().replace("+00:00", "Z") if when else None


def _line(value: Mapping[str, Any]) -> str:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029") + "\n"  # many programs end a line there
