"""What was true when: the versions of a fact, what held at a moment, what changed between two."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from heapq import merge
from typing import Literal

from django.db.models import F, prefetch_related_objects

from memories import clock
from memories.errors import Rejected
from memories.lifecycle import find
from memories.listing import Filters, check_page
from memories.models import Memory
from memories.places import label, project_to_read
from memories.querysets import MemoryQuerySet
from memories.recall import LIMIT, Question, recall
from memories.truth.chains import chain_of

LARGEST = 2**63 - 1
"""Of the integers that SQLite knows."""

type What = Literal["began", "held", "ended"]


@dataclass(frozen=True)
class Event:
    """`at` is when a memory began or ceased to hold, or the moment that was asked about."""

    at: datetime
    what: What
    memory: Memory


@dataclass(frozen=True)
class History:
    """A page of events, the earliest first."""

    events: list[Event]
    total: int
    limit: int
    offset: int


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One of three questions: the versions of `uid`; what held `as_of` a moment, all of it or what bears on a `query`;
    what changed from `since` on and before `until` (now, if it is left out)."""

    scope: str
    project: str | None = None
    cwd: str | None = None
    uid: str = ""
    as_of: str | date | None = None
    query: str = ""
    since: str | date | None = None
    until: str | date | None = None


def history(asked: Asked, *, limit: int = 50, offset: int = 0) -> History:
    """Raises Rejected for anything but one question, NotFound for an unknown uid."""
    check_page(limit, offset)
    questions = [bool(asked.uid), bool(asked.as_of), bool(asked.since or asked.until)]
    if sum(questions) != 1 or (asked.query and not asked.as_of):
        raise Rejected("Ask for one of: uid; as_of, with or without query; since, with or without until.")
    if asked.uid:
        chain = chain_of(find(asked.uid, scope=asked.scope))
        events = [Event(one.valid_from, "began", one) for one in chain]
        return History(events[offset : offset + limit], len(events), limit, offset)
    if asked.as_of:
        return _held(asked, limit=limit, offset=offset)
    return _changed(asked, limit=limit, offset=offset)


def _held(asked: Asked, *, limit: int, offset: int) -> History:
    moment = clock.moment(asked.as_of, name="as_of") or clock.now()
    place = {"scope": asked.scope, "project": asked.project, "cwd": asked.cwd, "as_of": asked.as_of}
    if asked.query:
        found = recall(Question(query=asked.query, mode="search", limit=LIMIT, **place))  # type: ignore[arg-type]
        memories = [item.memory for item in found.items]
        total = len(memories)
        memories = memories[offset : offset + limit]
        prefetch_related_objects(memories, "superseded_by")
    else:
        rows = Filters(**place).memories().order_by("valid_from", "pk")  # type: ignore[arg-type]
        memories, total = list(rows[offset : offset + limit]), rows.count()
    return History([Event(moment, "held", memory) for memory in memories], total, limit, offset)


def _changed(asked: Asked, *, limit: int, offset: int) -> History:
    now = clock.now()
    since, until = clock.moment(asked.since, name="since"), clock.moment(asked.until, name="until") or now
    scope = label(asked.scope, name="scope")
    project = project_to_read(asked.project, cwd=asked.cwd, scope=scope)
    kept = Memory.objects.filter(deleted_at=None).in_project(project).in_scope(scope).unexpired(now)
    kept = kept.exclude(valid_to=F("valid_from"))  # corrected: never so
    began, ended = kept.filter(valid_from__lt=until), kept.filter(valid_to__lt=until)
    if since:
        began, ended = began.filter(valid_from__gte=since), ended.filter(valid_to__gte=since)
    last = min(offset + limit, LARGEST)
    events = merge(_events(began, "began", last), _events(ended, "ended", last), key=lambda event: event.at)
    return History(list(events)[offset:last], began.count() + ended.count(), limit, offset)


def _events(memories: MemoryQuerySet, what: Literal["began", "ended"], most: int) -> Iterator[Event]:
    field = "valid_from" if what == "began" else "valid_to"
    for memory in memories.select_related("superseded_by").order_by(field, "pk")[:most]:
        yield Event(getattr(memory, field), what, memory)
