"""The record of what was injected, and what it says."""

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta

from django.db import transaction
from django.db.models import Count, QuerySet, Sum, TextField
from django.db.models.functions import Cast, Substr

from memories import clock, injected, search
from memories.draft import remark
from memories.places import label
from telemetry.models import HarnessSession, InjectedMemory, Injection


@dataclass(frozen=True, kw_only=True)
class Report:
    """A block that really entered a prompt."""

    scope: str
    harness: str = ""
    hook: str = ""
    session: str = ""
    project: str = ""
    query: str = ""
    uids: Sequence[str] = ()
    chars: int = 0
    fingerprint: str = ""


def report(injection: Report, *, most_wait_ms: int | None = None) -> int:
    """Record an injection. Unknown and foreign uids are left out; returns how many memories were counted.

    With `most_wait_ms` it raises OperationalError rather than wait longer for another writer.
    """
    with contextlib.nullcontext() if most_wait_ms is None else search.patience(most_wait_ms):
        return _report(injection)


def _report(injection: Report) -> int:
    now = clock.now()
    injection = replace(
        injection,
        harness=label(injection.harness, name="harness"),
        hook=label(injection.hook, name="hook"),
        session=label(injection.session, name="session"),
    )
    with transaction.atomic():
        uids = injected.known(injection.uids, scope=injection.scope)
        if not uids:
            return 0
        first_time = _not_yet_injected(injection, uids)
        row = Injection.objects.create(
            at=now,
            harness=injection.harness,
            hook=injection.hook,
            scope=injection.scope,
            project=injection.project,
            session=injection.session,
            query=remark(injection.query),
            chars=injection.chars,
            fingerprint=injection.fingerprint,
            prompt=_prompt_number(injection, now=now),
        )
        InjectedMemory.objects.bulk_create([InjectedMemory(injection=row, memory_uid=uid) for uid in uids])
        injected.count(uids, first_time, now=now)
    return len(uids)


def _prompt_number(injection: Report, *, now: datetime) -> int:
    """The present prompt of the session; a session that nobody heard of yet begins with this injection."""
    if not injection.session:
        return 0
    row, _created = HarnessSession.objects.get_or_create(
        scope=injection.scope,
        harness=injection.harness,
        session=injection.session,
        defaults={"context_started_at": now, "last_seen": now},
    )
    if injection.project and injection.project != row.project:
        row.project = injection.project
        row.save(update_fields=["project"])
    return row.prompts


def _not_yet_injected(injection: Report, uids: Iterable[str]) -> list[str]:
    """Of the uids those that this session did not see before: a memory is counted once a session."""
    if not injection.session:
        return list(uids)
    seen = set(
        InjectedMemory.objects.filter(
            injection__scope=injection.scope,
            injection__harness=injection.harness,
            injection__session=injection.session,
            memory_uid__in=list(uids),
        ).values_list("memory_uid", flat=True)
    )
    return [uid for uid in uids if uid not in seen]


def visible(
    *, scopes: Iterable[str] = (), harness: str | None = None, project: str | None = None
) -> QuerySet[Injection]:
    """Injections newest first, within some scopes (none named: all)."""
    found = Injection.objects.prefetch_related("memories").order_by("-at", "-pk")
    wanted = {"scope__in": list(scopes) or None, "harness": harness, "project": project}
    return found.filter(**{name: value for name, value in wanted.items() if value is not None})


@dataclass(frozen=True)
class Usage:
    """Injections in numbers; tokens are roughly characters / 4."""

    total: int
    last_7_days: int
    chars: int
    tokens: int
    by_harness: dict[str, int]
    by_hook: dict[str, int]
    most_injected: list[tuple[str, int]]


def usage(*, scopes: Iterable[str] = ()) -> Usage:
    found = visible(scopes=scopes).order_by().prefetch_related(None)
    chars = found.aggregate(sum=Sum("chars"))["sum"] or 0
    counts = {
        name: dict(found.values_list(name).annotate(n=Count("pk")).order_by("-n", name)) for name in ("harness", "hook")
    }
    week = clock.now() - timedelta(days=7)
    return Usage(
        total=found.count(),
        last_7_days=found.filter(at__gte=week).count(),
        chars=chars,
        tokens=chars // 4,
        by_harness=counts["harness"],
        by_hook=counts["hook"],
        most_injected=injected.most(scopes=scopes),
    )


def per_day(*, scopes: Iterable[str] = (), since: datetime) -> dict[date, int]:
    """How many injections there were, by the day in UTC."""
    found = visible(scopes=scopes).order_by().prefetch_related(None).filter(at__gte=since)
    day = Substr(Cast("at", TextField()), 1, 10)  # TruncDate calls a function of Python for every row
    return {date.fromisoformat(day): count for day, count in found.values_list(day).annotate(n=Count("pk"))}


def of_memory(uid: str) -> QuerySet[Injection]:
    """The injections that a memory was part of, newest first."""
    return visible().prefetch_related(None).filter(memories__memory_uid=uid)
