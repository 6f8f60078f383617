"""What other programs know, in the words of this one. Readers yield `Item`, and `Flaw` for what they cannot read."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

from memories.clock import moment
from memories.draft import MAX_TAGS
from memories.errors import Rejected
from memories.models import LABEL, Kind
from memories.transfer.report import Flaw, Remark

type Found = Item | Flaw | Remark

_KINDS = {
    "preference": Kind.PREFERENCE,
    "preferences": Kind.PREFERENCE,
    "decision": Kind.DECISION,
    "decisions": Kind.DECISION,
    "artifact": Kind.ARTIFACT,
    "tool_result": Kind.ARTIFACT,
    "tool": Kind.ARTIFACT,
}
_NO_TAGS = frozenset({"", "fact", "facts", "memory", "note", "general", *_KINDS})
"""Kinds of other programs that say no more than ours do; any other one becomes a tag."""
_LAST_SECOND = 253_402_300_799
_NAMES = {
    "content": ("content", "text", "memory", "body", "fact", "observation", "note", "value", "summary", "data"),
    "kind": ("kind", "type", "memory_type", "category", "content_type"),
    "tags": ("tags", "labels", "keywords", "categories"),
    "project": ("project", "project_name", "project_id", "workspace", "repo", "repository", "namespace"),
    "created": ("created_at", "created", "createdat", "timestamp", "date", "created_on", "time", "valid_from"),
    "expires": ("expires_at", "expiration_date", "expires", "expiry"),
    "session": ("session", "session_id", "run_id", "conversation_id"),
    "actor": ("actor", "agent", "agent_id", "agent_name", "user_id", "author"),
    "harness": ("harness", "client"),
    "pinned": ("pinned", "is_pinned"),
    "gone": ("deleted_at", "deleted", "is_deleted", "forgotten", "forgotten_at", "archived", "archived_at"),
    "past": ("superseded_by", "superseded_at", "valid_to", "invalid_at", "valid_until", "invalidated_at"),
    "active": ("is_active", "active"),
}
_NOT = frozenset({"", "0", "false", "no", "null", "none"})


@dataclass(frozen=True, kw_only=True)
class Item:
    """One memory of another program; `folder` is where its project is looked for if it names none."""

    place: str
    content: str
    kind: str | None = None
    tags: Sequence[str] = ()
    project: str = ""
    folder: str = ""
    harness: str = ""
    session: str = ""
    actor: str = ""
    created: datetime | None = None
    expires: datetime | None = None
    pinned: bool = False


def names_of(known: Iterable[str]) -> dict[str, str]:
    """Our word -> the field of another program that means it, for the fields that are recognised."""
    fields = {name.lower(): name for name in known}
    found = {word: next((fields[one] for one in names if one in fields), "") for word, names in _NAMES.items()}
    return {word: name for word, name in found.items() if name}


def item(fields: Mapping[str, Any], *, place: str, now: datetime) -> Found:
    """An item of a record whose fields have names that are in use for such things; nested metadata counts too."""
    flat = {**_metadata(fields), **{name: value for name, value in fields.items() if value is not None}}
    value = {word: flat[name] for word, name in names_of(flat).items()}
    content = value.get("content")
    if not isinstance(content, str):
        return Flaw(place, "It has no text.")
    if _is_past(value, now=now):
        return Remark("What was deleted, superseded or expired there was left out.")
    kind = _label(value.get("kind"))
    return Item(
        place=place,
        content=content,
        kind=_KINDS.get(kind.lower()),
        tags=tags(value.get("tags"), *([] if kind.lower() in _NO_TAGS else [kind])),
        project="" if isinstance(value.get("project"), int) else _label(value.get("project")),  # a key of a table
        created=when(value.get("created"), now=now),
        expires=when(value.get("expires")),
        pinned=_is_set(value.get("pinned")),
        **{name: _label(value.get(name)) for name in ("harness", "session", "actor")},
    )


def tags(value: Any, *others: str) -> list[str]:
    """Distinct tags of a list, of JSON in a text, or of words between commas; those that are too long are cut."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            value = value.strip("[] ")
    listed = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else []
    named = [_label(one).strip("# ") for one in (*listed, *others)]
    return list(dict.fromkeys(one for one in named if one))[:MAX_TAGS]


def when(value: Any, *, now: datetime | None = None) -> datetime | None:
    """A time as other programs write it: ISO 8601, without an offset UTC; seconds or milliseconds since 1970.

    None for what is no time, and for one after `now`.
    """
    try:
        found = _moment(value)
    except (Rejected, ValueError, OverflowError, OSError):
        return None
    return None if found and now and found > now else found


def _moment(value: Any) -> datetime | None:
    if isinstance(value, str) and re.fullmatch(r"\s*\d{9,16}(\.\d+)?\s*", value):
        value = float(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        seconds = value / 1000 if value > _LAST_SECOND / 10 else value
        return datetime.fromtimestamp(seconds, UTC)
    if isinstance(value, str):
        parsed = datetime.fromisoformat(value.strip())
        return parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed.astimezone(UTC)
    if isinstance(value, datetime) and value.tzinfo is None:
        value = value.replace(tzinfo=UTC)
    return moment(value, name="time") if isinstance(value, date) else None


def _metadata(fields: Mapping[str, Any]) -> dict[str, Any]:
    value = fields.get("metadata")
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {}
    return {name: one for name, one in value.items() if one is not None} if isinstance(value, dict) else {}


def _is_past(value: Mapping[str, Any], *, now: datetime) -> bool:
    expires = when(value.get("expires"))
    gone = _is_set(value.get("gone")) or _is_set(value.get("past"))
    return gone or not _is_set(value.get("active", True)) or (expires is not None and expires <= now)


def _is_set(value: Any) -> bool:
    return value is not None and str(value).strip().lower() not in _NOT


def _label(value: Any) -> str:
    return str(value)[:LABEL].strip() if isinstance(value, str | int) and not isinstance(value, bool) else ""


def items(records: Iterable[Any], *, what: str, now: datetime) -> Iterator[Found]:
    for number, record in enumerate(records, start=1):
        place = f"{what} {number}"
        yield item(record, place=place, now=now) if isinstance(record, Mapping) else Flaw(place, "It is not an object.")
