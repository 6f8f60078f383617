"""The search box of the memory list: what an agent would be told, in the same order."""

from collections.abc import Iterable

from django.contrib import messages
from django.db.models import Case, QuerySet, Value, When
from django.http import HttpRequest

from memories.admin.base import MemoryBase
from memories.admin.filters import LIVE, is_uid
from memories.admin.scopes import scopes_of
from memories.errors import MemoriesError
from memories.models import Kind, Memory
from memories.places import project_to_read
from memories.querysets import ANY_PROJECT
from memories.recall import LIMIT, Item, Question, recall


class Searching(MemoryBase):
    search_fields = ("content",)
    search_help_text = (
        "Finds live memories by relevance, as agents find them; in other states by the literal text. "
        "A uid finds its memory in any state."
    )

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Memory], search_term: str
    ) -> tuple[QuerySet[Memory], bool]:
        term = search_term.strip()
        if not term:
            return queryset, False
        if is_uid(term):
            return queryset.filter(uid=term), False
        if request.GET.get("state", LIVE) != LIVE:
            return queryset.filter(content__icontains=term), False
        return _found(request, queryset, term), False


def _found(request: HttpRequest, queryset: QuerySet[Memory], term: str) -> QuerySet[Memory]:
    try:
        hits = _hits(request, term)
    except MemoriesError as error:
        messages.error(request, str(error))
        return queryset.none()
    found = queryset.filter(pk__in=hits)
    if not hits or request.GET.get("o"):
        return found
    place = Case(*[When(pk=pk, then=Value(position)) for position, pk in enumerate(hits)])
    return found.order_by(place, "-pk")


def _hits(request: HttpRequest, term: str) -> list[int]:
    """The keys of the best memories in every scope that the user may see, best first."""
    chosen = request.GET.get("scope")
    scopes = [scope for scope in scopes_of(request.user) if chosen is None or scope == chosen]
    items: list[Item] = []
    for scope in scopes:
        question = Question(
            query=term,
            mode="search",
            scope=scope,
            project=_project(request.GET.get("project", ""), scope=scope),
            kinds=_kinds(request.GET.getlist("kind__exact")),
            limit=LIMIT,
            budget_chars=0,
        )
        items += recall(question).items
    best = sorted(items, key=lambda item: -item.score)  # stable: the order within a scope stays
    return [item.memory.pk for item in best[:LIMIT]]


def _project(name: str, *, scope: str) -> str:
    """The project to search; the whole scope if recall would read another one into the name."""
    return name if name and project_to_read(name, cwd=None, scope=scope) == name else ANY_PROJECT


def _kinds(given: Iterable[str]) -> list[str]:
    return [kind for kind in given if kind in Kind.values]
