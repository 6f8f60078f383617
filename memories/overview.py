"""What a person wants to see of a store at a glance; counts of single things are in `listing`."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime

from django.db.models import Count, QuerySet, TextField
from django.db.models.functions import Cast, Substr

from memories import clock
from memories.models import Candidate, Memory
from memories.querysets import MemoryQuerySet


@dataclass(frozen=True)
class Glance:
    """A memory on one line; `text` is its beginning."""

    pk: int
    uid: str
    text: str
    kind: str
    project: str
    updated_at: datetime
    injections: int


def newest(*, scopes: Iterable[str], limit: int, characters: int) -> list[Glance]:
    return _glances(_current(scopes).order_by("-updated_at", "-pk"), limit, characters)


def most_injected(*, scopes: Iterable[str], limit: int, characters: int) -> list[Glance]:
    """Those injected in most sessions, whatever became of them but being forgotten."""
    kept = Memory.objects.in_scopes(scopes).filter(deleted_at=None, injection_count__gt=0)
    return _glances(kept.order_by("-injection_count", "-pk"), limit, characters)


def oldest_never_recalled(*, scopes: Iterable[str], limit: int, characters: int) -> list[Glance]:
    return _glances(_current(scopes).never_recalled().order_by("updated_at", "pk"), limit, characters)


def stored_per_day(*, scopes: Iterable[str], since: datetime) -> dict[date, int]:
    """How many memories were stored, by the day in UTC; of those that are not purged."""
    stored = Memory.objects.in_scopes(scopes).filter(created_at__gte=since).order_by()
    day = Substr(Cast("created_at", TextField()), 1, 10)  # TruncDate calls a function of Python for every row
    rows = stored.values_list(day).annotate(n=Count("pk"))
    return {date.fromisoformat(day): count for day, count in rows}


def waiting_candidates(*, scopes: Iterable[str]) -> QuerySet[Candidate]:
    wanted = list(scopes)
    waiting = Candidate.objects.filter(state=Candidate.State.WAITING)
    return waiting.filter(scope__in=wanted) if wanted else waiting


def _current(scopes: Iterable[str]) -> MemoryQuerySet:
    return Memory.objects.in_scopes(scopes).live().unexpired(clock.now())


def _glances(memories: MemoryQuerySet, limit: int, characters: int) -> list[Glance]:
    rows = memories.annotate(text=Substr("content", 1, characters))
    return [
        Glance(*row)
        for row in rows.values_list("pk", "uid", "text", "kind", "project", "updated_at", "injection_count")[:limit]
    ]
