"""The filters of the memory list."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, ClassVar

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.db.models import QuerySet
from django.http import HttpRequest

from memories import clock
from memories.admin.scopes import scopes_of, visible
from memories.listing import VECTOR_STATES, in_vector_state
from memories.models import Memory
from memories.querysets import MemoryQuerySet

EVERYWHERE = "(everywhere)"
LIVE = "live"
UID_LENGTH = 32


def is_uid(term: str) -> bool:
    return len(term) == UID_LENGTH and all(letter in "0123456789abcdef" for letter in term)


def in_state(memories: MemoryQuerySet, state: str, now: datetime) -> MemoryQuerySet:
    if state == "forgotten":
        return memories.forgotten()
    if state == "superseded":
        return memories.superseded().unexpired(now)
    if state == "expired":
        return memories.filter(deleted_at=None).expired(now)
    if state == "all":
        return memories
    return memories.live().unexpired(now)


class TimeFilter(admin.DateFieldListFilter):
    """Of a field whose name says little as a title."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.title = "time"


class StateFilter(admin.SimpleListFilter):
    """Live unless another state is chosen; a search for a uid finds it in any state."""

    title = "state"
    parameter_name = "state"
    STATES: ClassVar = [LIVE, "forgotten", "superseded", "expired", "all"]

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(state, state) for state in self.STATES]

    def choices(self, changelist: ChangeList) -> Iterator[Any]:
        chosen = self.value() or LIVE
        for value, title in self.lookup_choices:
            query = changelist.get_query_string({"state": str(value)})
            yield {"selected": chosen == value, "query_string": query, "display": title}

    def queryset(self, request: HttpRequest, queryset: Any) -> MemoryQuerySet:
        given = self.value() or ("all" if is_uid(request.GET.get("q", "").strip()) else LIVE)
        return in_state(queryset, given, clock.now())


class ScopeFilter(admin.SimpleListFilter):
    title = "scope"
    parameter_name = "scope"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(scope, scope) for scope in scopes_of(request.user)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Memory]) -> QuerySet[Memory]:
        scope = self.value()
        return queryset if scope is None else queryset.filter(scope=scope)


class ProjectFilter(admin.SimpleListFilter):
    title = "project"
    parameter_name = "project"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        rows = visible(Memory.objects.order_by("project"), request.user)
        return [(name, name or EVERYWHERE) for name in rows.values_list("project", flat=True).distinct()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Memory]) -> QuerySet[Memory]:
        project = self.value()
        return queryset if project is None else queryset.filter(project=project)


class ValuesFilter(admin.AllValuesFieldListFilter):
    """Every value of a field; a link needs words, so the empty one gets some."""

    def choices(self, changelist: ChangeList) -> Iterator[Any]:
        for choice in super().choices(changelist):
            yield {**choice, "display": choice["display"] or "(none)"}


class UseFilter(admin.SimpleListFilter):
    """What agents were told of."""

    title = "use"
    parameter_name = "use"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("never", "never recalled"), ("injected", "injected"), ("noise", "injected, wrong later")]

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        if self.value() == "never":
            return queryset.never_recalled()
        if self.value() == "injected":
            return queryset.filter(injection_count__gt=0)
        return queryset.noise() if self.value() == "noise" else queryset


class VectorFilter(admin.SimpleListFilter):
    title = "vectors"
    parameter_name = "vectors"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(state, state) for state in VECTOR_STATES]

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        state = next((state for state in VECTOR_STATES if state == self.value()), None)
        return in_vector_state(queryset, state) if state else queryset
