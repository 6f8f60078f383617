"""The numbers of the admin's first page. A fixed number of queries, however many memories there are."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from urllib.parse import urlencode

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, User
from django.template.defaultfilters import filesizeformat
from django.urls import reverse

from memories import clock, embedders, listing, overview
from memories.admin.filters import EVERYWHERE
from memories.admin.scopes import reach
from memories.embedders import Description
from memories.listing import Noise
from memories.models import Conflict
from memories.overview import Glance
from memories.texts import SLICE, opening
from memories.truth import conflicts
from memsite import charts, spool
from memsite.charts import Chart, Day
from memsite.tasks import is_owner
from telemetry import injections

DAYS = 30
MOST_INJECTED = 10
NEWEST = 20
UNRECALLED = 5
NOISIEST = 5
MOST_ROWS = 8
"""Rows of a breakdown; the list's filter has the rest."""

MEMORIES = "admin:memories_memory_changelist"
INJECTIONS = "admin:telemetry_injection_changelist"

type Visitor = User | AbstractBaseUser | AnonymousUser


@dataclass(frozen=True)
class Number:
    """A count with the rows behind it; `share` is a percentage for a bar."""

    label: str
    value: str
    url: str = ""
    note: str = ""
    share: float = 0.0


@dataclass(frozen=True)
class Breakdown:
    title: str
    numbers: tuple[Number, ...]


@dataclass(frozen=True)
class Dashboard:
    cards: tuple[Number, ...]
    breakdowns: tuple[Breakdown, ...]
    chart: Chart
    embedder: Description
    newest: tuple[Glance, ...]
    most_injected: tuple[Glance, ...]
    unrecalled: tuple[Glance, ...]
    unrecalled_count: int
    noise: tuple[tuple[Noise, str], ...]
    shows_injections: bool


def sees_memories(user: Visitor) -> bool:
    return _may(user, "memories.view_memory") or _may(user, "memories.change_memory")


def dashboard(user: Visitor) -> Dashboard:
    """What a user may see of it: the scopes of their grants, and injections with the permission to view those."""
    scopes = reach(user)
    shows_injections = _may(user, "telemetry.view_injection")
    stats = listing.stats(scopes=scopes)
    usage = injections.usage(scopes=scopes) if shows_injections else None
    cards = [
        *_memory_cards(stats, maintains=is_owner(user)),
        *_reviews(scopes),
        *(_waiting() if is_owner(user) else []),
        *(_injection_cards(usage) if usage else []),
    ]
    return Dashboard(
        cards=tuple(cards),
        breakdowns=(*_memory_breakdowns(stats), *(_injection_breakdowns(usage) if usage else ())),
        chart=_chart(scopes, shows_injections=shows_injections),
        embedder=embedders.describe(),
        newest=_glances(overview.newest(scopes=scopes, limit=NEWEST, characters=SLICE)),
        most_injected=_glances(overview.most_injected(scopes=scopes, limit=MOST_INJECTED, characters=SLICE)),
        unrecalled=_glances(overview.oldest_never_recalled(scopes=scopes, limit=UNRECALLED, characters=SLICE)),
        unrecalled_count=stats.never_recalled,
        noise=tuple(
            (noise, _list(MEMORIES, use="noise", state="all", project=noise.project))
            for noise in stats.noise[:NOISIEST]
        ),
        shows_injections=shows_injections,
    )


def _may(user: Visitor, permission: str) -> bool:
    return isinstance(user, User) and user.has_perm(permission)


def _list(name: str, **filters: object) -> str:
    return f"{reverse(name)}?{urlencode(filters)}" if filters else reverse(name)


def _memory_cards(stats: listing.Stats, *, maintains: bool) -> Iterable[Number]:
    states = stats.by_state
    rest = " · ".join(f"{states[name]:,} {name}" for name in ("superseded", "expired", "forgotten"))
    yield Number("live memories", f"{states['live']:,}", _list(MEMORIES), rest)
    never = f"{_percent(stats.never_recalled, states['live']):.0f} % of what is live"
    yield Number("never recalled", f"{stats.never_recalled:,}", _list(MEMORIES, use="never"), never)
    url = reverse("admin:maintenance") if maintains else ""
    yield Number("database", filesizeformat(stats.database_bytes), url, "with its log")


def _reviews(scopes: Iterable[str]) -> Iterable[Number]:
    pairs = conflicts.visible(scopes=scopes, state=Conflict.Verdict.PENDING).order_by().count()
    url = _list("admin:memories_conflict_changelist", verdict__exact="pending")
    yield Number("pending reviews", f"{pairs:,}", url, "contradictions to settle")
    candidates = overview.waiting_candidates(scopes=scopes).order_by().count()
    if candidates:
        url = _list("admin:memories_candidate_changelist", state="waiting")
        yield Number("candidates", f"{candidates:,}", url, "stated in prompts, to accept or dismiss")


def _waiting() -> Iterable[Number]:
    """What hooks wrote down while no service answered."""
    waiting = spool.spool_state().lines
    if waiting:
        yield Number("texts in the spool", f"{waiting:,}", "", "taken in within a minute")


def _injection_cards(usage: injections.Usage) -> Iterable[Number]:
    week = (clock.now() - timedelta(days=7)).astimezone(UTC)
    yield Number(
        "injections, 7 days", f"{usage.last_7_days:,}", _list(INJECTIONS, at__gte=f"{week:%Y-%m-%dT%H:%M:%SZ}")
    )
    cost = f"{usage.chars:,} characters, about {usage.tokens:,} tokens"
    yield Number("injections, all", f"{usage.total:,}", _list(INJECTIONS), cost)


def _memory_breakdowns(stats: listing.Stats) -> Iterable[Breakdown]:
    yield _breakdown("By state", stats.by_state, lambda state: _list(MEMORIES, state=state))
    yield _breakdown("By kind", stats.by_kind, lambda kind: _list(MEMORIES, kind__exact=kind))
    yield _breakdown("By project", stats.by_project, lambda project: _list(MEMORIES, project=project), EVERYWHERE)
    vectors = {name: count for name, count in vars(stats.vectors).items() if count or name != "foreign"}
    yield _breakdown("Vectors", vectors, lambda state: _list(MEMORIES, vectors=state, state="all"))


def _injection_breakdowns(usage: injections.Usage) -> Iterable[Breakdown]:
    yield _breakdown("Injections by harness", usage.by_harness, lambda name: _list(INJECTIONS, harness=name))
    yield _breakdown("Injections by hook", usage.by_hook, lambda name: _list(INJECTIONS, hook=name))


def _breakdown(title: str, counts: Mapping[str, int], url: Callable[[str], str], nameless: str = "-") -> Breakdown:
    total = sum(counts.values())
    shown = list(counts.items())[:MOST_ROWS]
    return Breakdown(
        title,
        tuple(
            Number(name or nameless, f"{count:,}", url(name), share=round(_percent(count, total), 1))
            for name, count in shown
        ),
    )


def _percent(part: int, whole: int) -> float:
    return 100 * part / whole if whole else 0.0


def _chart(scopes: Iterable[str], *, shows_injections: bool) -> Chart:
    today = clock.now().astimezone(UTC).date()
    first = today - timedelta(days=DAYS - 1)
    since = datetime(first.year, first.month, first.day, tzinfo=UTC)
    stored = overview.stored_per_day(scopes=scopes, since=since)
    series = [stored, *([injections.per_day(scopes=scopes, since=since)] if shows_injections else [])]
    on = [first + timedelta(days=number) for number in range(DAYS)]
    days = [Day(day, tuple(counts.get(day, 0) for counts in series)) for day in on]
    names = ("memories stored", "injections")[: len(series)]
    return charts.per_day(f"{' and '.join(names).capitalize()} per day", names, days)


def _glances(found: Iterable[Glance]) -> tuple[Glance, ...]:
    return tuple(replace(one, text=opening(one.text)) for one in found)
