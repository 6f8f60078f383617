"""Memories in pages and in numbers."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime
from typing import Literal

from django.db import DatabaseError
from django.db.models import Count, F

from memories import clock, embedders
from memories.cleaning import clean
from memories.conf import config
from memories.draft import labels, one_of
from memories.errors import Rejected
from memories.models import Kind, Memory, Source, Tier
from memories.places import label, project_to_read
from memories.querysets import MemoryQuerySet

LARGEST_PAGE = 500
KINDS = tuple(Kind.values)

type State = Literal["live", "superseded", "all"]


@dataclass(frozen=True, kw_only=True)
class Filters:
    """What a listing is narrowed to; empty fields do not filter. Forgotten and expired memories are never listed."""

    scope: str
    project: str | None = None
    cwd: str | None = None
    kind: str = ""
    tier: str = ""
    source: str = ""
    harness: str = ""
    tag: str = ""
    state: str = "live"
    q: str = ""
    as_of: str | date | None = None

    def memories(self) -> MemoryQuerySet:
        now = clock.now()
        scope = label(self.scope, name="scope")
        project = project_to_read(self.project, cwd=self.cwd, scope=scope)
        found = self._in_state(now).in_scope(scope).in_project(project)
        for name, choices in (("kind", Kind), ("tier", Tier), ("source", Source)):
            value = getattr(self, name)
            if value:
                found = found.filter(**{name: one_of(choices, value, name=name)})
        if self.harness:
            found = found.filter(harness=label(self.harness, name="harness"))
        if self.q:
            found = found.filter(content__icontains=clean(self.q))
        return found.tagged(labels([self.tag])).select_related("superseded_by").order_by("-updated_at", "-pk")

    def _in_state(self, now: datetime) -> MemoryQuerySet:
        moment = clock.moment(self.as_of, name="as_of")
        if moment:
            return Memory.objects.as_of(moment, now)
        if self.state == "live":
            return Memory.objects.live().unexpired(now)
        if self.state == "superseded":
            return Memory.objects.superseded().unexpired(now)
        if self.state == "all":
            return Memory.objects.filter(deleted_at=None).unexpired(now)
        raise Rejected(f"state {self.state[:40]!r} is unknown; it is live, superseded or all.")


@dataclass(frozen=True)
class Page:
    items: list[Memory]
    total: int
    limit: int
    offset: int


def check_page(limit: int, offset: int) -> None:
    if not 1 <= limit <= LARGEST_PAGE:
        raise Rejected(f"limit lies between 1 and {LARGEST_PAGE}.")
    if not 0 <= offset < 2**63:
        raise Rejected("offset is 0 or more.")


def page(filters: Filters, *, limit: int = 50, offset: int = 0) -> Page:
    """A page of memories, newest updated first, in a total order."""
    check_page(limit, offset)
    found = filters.memories()
    return Page(list(found[offset : offset + limit]), found.count(), limit, offset)


def projects(*, scope: str, part: str = "", limit: int = LARGEST_PAGE) -> list[str]:
    """Projects with live memories whose name contains `part`, by name."""
    live = Memory.objects.live().in_scope(scope).exclude(project="").filter(project__icontains=part)
    return list(live.order_by("project").values_list("project", flat=True).distinct()[:limit])


@dataclass(frozen=True)
class VectorCounts:
    """Memories with vectors of the model in use, without, and with vectors of other models only."""

    stored: int = 0
    pending: int = 0
    foreign: int = 0


@dataclass(frozen=True)
class Stats:
    """Counts of one or several scopes, and the size of the database file in bytes."""

    by_state: dict[str, int]
    by_kind: dict[str, int]
    by_project: dict[str, int]
    database_bytes: int
    vectors: VectorCounts


def stats(*, scopes: Iterable[str] = ()) -> Stats:
    now = clock.now()
    wanted = list(scopes)
    everything = Memory.objects.order_by()
    if wanted:
        everything = everything.filter(scope__in=wanted)
    live = everything.live().unexpired(now)
    states = {
        "live": live.count(),
        "superseded": everything.superseded().unexpired(now).count(),
        "expired": everything.filter(deleted_at=None).expired(now).count(),
        "forgotten": everything.forgotten().count(),
    }
    return Stats(states, _counted(live, "kind"), _counted(live, "project"), _database_bytes(), _vectors(everything))


def _counted(memories: MemoryQuerySet, field: str) -> dict[str, int]:
    return dict(memories.values_list(field).annotate(n=Count("pk")).order_by("-n", field))


def _vectors(memories: MemoryQuerySet) -> VectorCounts:
    """Until the model has embedded something nobody knows which vectors are its own: all of them count as such."""
    kept = memories.filter(deleted_at=None)
    with_any = kept.filter(passages__position=0, passages__text_hash=F("content_hash")).distinct().count()
    embedder = embedders.current()
    if embedder is None:
        return VectorCounts(foreign=with_any)
    total = kept.count()
    stored = total - kept.without_vectors(embedder.identity).count() if embedder.identity else with_any
    return VectorCounts(stored, total - stored, with_any - stored)


def _database_bytes() -> int:
    database = config().database
    return sum(path.stat().st_size for path in (database, database.with_name(f"{database.name}-wal")) if path.exists())


def database_state() -> Literal["ok", "busy", "failed"]:
    """Whether the store can be read now."""
    try:
        Memory.objects.order_by().values_list("pk")[:1].first()
    except DatabaseError as error:
        return "busy" if "locked" in str(error) or "busy" in str(error) else "failed"
    return "ok"
