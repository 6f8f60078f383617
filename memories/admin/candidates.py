"""What was stated in prompts and waits for a person: accept makes it a memory, dismiss drops it."""

from collections.abc import Callable, Iterator
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.views.main import ChangeList
from django.db.models import QuerySet
from django.http import HttpRequest

from memories import candidates
from memories.admin.base import refusals_as_messages
from memories.admin.scopes import ReadOnlyAdmin, ScopedAdmin
from memories.errors import Conflict
from memories.models import Candidate
from memories.texts import opening

EVERYWHERE = [admin.ActionLocation.CHANGE_LIST, admin.ActionLocation.CHANGE_FORM]


class WaitingFilter(admin.SimpleListFilter):
    """Those that wait, unless another state is chosen."""

    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(state, state) for state in Candidate.State.values]

    def choices(self, changelist: ChangeList) -> Iterator[Any]:
        for value, title in self.lookup_choices:
            query = changelist.get_query_string({"state": str(value)})
            yield {"selected": self.chosen == value, "query_string": query, "display": title}

    def queryset(self, request: HttpRequest, queryset: QuerySet[Candidate]) -> QuerySet[Candidate]:
        return queryset.filter(state=self.chosen)

    @property
    def chosen(self) -> str:
        return self.value() or Candidate.State.WAITING


@admin.register(Candidate)
class CandidateAdmin(ReadOnlyAdmin, ScopedAdmin):
    list_display = ("at", "text", "project", "scope", "harness", "state")
    list_filter = (WaitingFilter, "project", "harness")
    list_per_page = 50
    fields = ("content", ("scope", "project"), ("harness", "session"), ("at", "state"))
    actions = ("accept", "dismiss")

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_view_permission(request, obj) or self.has_edit_permission(request)

    def has_edit_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("memories.change_candidate")

    @admin.display(description="text")
    def text(self, candidate: Any) -> str:
        return opening(candidate.content) or "-"

    @admin.action(permissions=["edit"], description="Accept: remember it", location=EVERYWHERE)
    def accept(self, request: HttpRequest, queryset: QuerySet[Candidate]) -> None:
        self._settle(request, queryset, candidates.accept, done="accepted")

    @admin.action(permissions=["edit"], description="Dismiss: drop its text", location=EVERYWHERE)
    def dismiss(self, request: HttpRequest, queryset: QuerySet[Candidate]) -> None:
        self._settle(request, queryset, candidates.dismiss, done="dismissed")

    def _settle(
        self, request: HttpRequest, queryset: QuerySet[Candidate], settle: Callable[..., object], *, done: str
    ) -> None:
        settled = 0
        with refusals_as_messages(request):
            for pk in list(queryset.values_list("pk", flat=True)):
                try:
                    settle(pk, actor=request.user.get_username())
                except Conflict:  # settled before, perhaps by another person meanwhile
                    continue
                settled += 1
        self.message_user(request, f"Candidates {done}: {settled}.", messages.SUCCESS if settled else messages.WARNING)
