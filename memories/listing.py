"""Memories in pages and in numbers."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime
from typing import Literal

from django.db import DatabaseError
from django.db.models import Count, Q

from memories import clock, embedders
from memories.cleaning import clean
from memories.conf import config
from memories.draft import labels, one_of
from memories.errors import Rejected
from memories.models import Kind, Memory, Source, Tier
from memories.places import label, project_to_read
from memories.querysets import MemoryQuerySet, is_wrong, state_at

LARGEST_PAGE = 500
KINDS = tuple(Kind.values)

type State = Literal["live", "superseded", "all"]
type VectorState = Literal["stored", "pending", "foreign"]
VECTOR_STATES: tuple[VectorState, ...] = ("stored", "pending", "foreign")


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
    """Memories with vectors of the model in use, without (0 if none is), and of these those with another model's."""

    stored: int = 0
    pending: int = 0
    foreign: int = 0


@dataclass(frozen=True)
class Noise:
    """Of the memories of a project that entered prompts, how many were found wrong later."""

    project: str
    wrong: int
    injected: int


@dataclass(frozen=True)
class Stats:
    """Counts of one or several scopes, and the size of the database file in bytes.

    Kinds, projects and `never_recalled` count live memories; `noise` has the projects with any, the worst first.
    """

    by_state: dict[str, int]
    by_kind: dict[str, int]
    by_project: dict[str, int]
    never_recalled: int
    noise: tuple[Noise, ...]
    database_bytes: int
    vectors: VectorCounts


def stats(*, scopes: Iterable[str] = ()) -> Stats:
    everything = Memory.objects.order_by().in_scopes(scopes)
    groups = _groups(everything, now=clock.now())
    states = Counter(dict.fromkeys(("live", "superseded", "expired", "forgotten"), 0))
    kinds, projects, never = Counter[str](), Counter[str](), 0
    injected, wrong = Counter[str](), Counter[str]()
    for state, kind, project, count, unrecalled, seen, noisy in groups:
        states[state] += count
        injected[project] += seen
        wrong[project] += noisy
        if state == "live":
            kinds[kind] += count
            projects[project] += count
            never += unrecalled
    noise = tuple(Noise(project, count, injected[project]) for project, count in _most_first(wrong).items() if count)
    vectors = _vectors(everything)
    return Stats(dict(states), _most_first(kinds), _most_first(projects), never, noise, _database_bytes(), vectors)


def _groups(memories: MemoryQuerySet, *, now: datetime) -> Iterable[tuple[str, str, str, int, int, int, int]]:
    """Counts by state, kind and project: all, never recalled, injected, wrong later. One pass over the table."""
    injected = Q(injection_count__gt=0)
    groups = memories.values_list(state_at(now), "kind", "project")
    rows: Iterable[tuple[str, str, str, int, int, int, int]] = groups.annotate(
        Count("pk"),
        never=Count("pk", filter=Q(access_count=0, injection_count=0)),
        seen=Count("pk", filter=injected),
        noisy=Count("pk", filter=injected & is_wrong()),
    )
    return rows


def _most_first(counts: Counter[str]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def _vectors(memories: MemoryQuerySet) -> VectorCounts:
    counts = {
        state: 0 if found.query.is_empty() else found.count()
        for state, found in ((state, in_vector_state(memories, state)) for state in VECTOR_STATES)
    }
    return VectorCounts(**counts)


def in_vector_state(memories: MemoryQuerySet, state: VectorState) -> MemoryQuerySet:
    """Those of the memories that are not forgotten and in this state; what is foreign is pending too.

    Until the model has embedded something nobody knows which vectors are its own: all of them count as such.
    """
    kept = memories.filter(deleted_at=None)
    embedder = embedders.current()
    if embedder is None:
        return kept.with_vectors() if state == "foreign" else kept.none()
    if state == "stored":
        return kept.with_vectors(embedder.identity)
    if not embedder.identity:
        return kept.without_vectors() if state == "pending" else kept.none()
    pending = kept.without_vectors(embedder.identity)
    return pending.with_vectors() if state == "foreign" else pending


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
