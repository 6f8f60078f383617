"""The queue of memories that contradict each other: read both, confirm, reject, undo."""

from typing import Any, ClassVar

from django.contrib import admin, messages
from django.db.models import F, QuerySet
from django.db.models.functions import Substr
from django.http import HttpRequest, HttpResponse

from memories.admin.base import refusals_as_messages
from memories.admin.filters import ValuesFilter
from memories.admin.scopes import ModelAdmin, ReadOnlyAdmin, reach
from memories.models import Conflict
from memories.texts import LONGEST_SHOWN, SLICE, moment, opening
from memories.truth import conflicts

BOTH = [admin.ActionLocation.CHANGE_LIST, admin.ActionLocation.CHANGE_FORM]


@admin.register(Conflict)
class ConflictAdmin(ReadOnlyAdmin, ModelAdmin):
    list_display = ("created", "older_text", "newer_text", "evidence", "similarity", "verdict", "scope")
    list_filter = ("verdict", ("judge", ValuesFilter), "created_at")
    list_display_links = ("created", "older_text")
    list_per_page = 50
    show_full_result_count = False
    search_fields = ("=older__uid", "=newer__uid", "older__content", "newer__content")
    search_help_text = "A memory's uid, or a part of either text."
    fields = (
        ("verdict", "evidence", "similarity"),
        ("judge", "reason"),
        ("created_at", "decided_at", "decided_by"),
    )
    actions = ("confirm", "reject")

    class Media:
        css: ClassVar = {"all": ["memories/admin.css"]}

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Lists read the beginnings of the texts only."""
        pairs = conflicts.visible(scopes=reach(request.user)).order_by()
        rows: QuerySet[Any] = super().get_queryset(request).filter(pk__in=pairs)
        return rows.annotate(  # type: ignore[no-any-return]  # django-stubs lose the model
            scope=F("older__scope"),
            older_beginning=Substr("older__content", 1, SLICE),
            newer_beginning=Substr("newer__content", 1, SLICE),
        )

    def has_edit_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("memories.change_memory")

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_view_permission(request, obj) or self.has_edit_permission(request)

    @admin.action(permissions=["edit"], description="Confirm: the newer replaces the older", location=BOTH)
    def confirm(self, request: HttpRequest, queryset: QuerySet[Conflict]) -> None:
        self._settle(request, queryset, Conflict.Verdict.CONFIRMED)

    @admin.action(permissions=["edit"], description="Reject: both hold (undoes a confirmation)", location=BOTH)
    def reject(self, request: HttpRequest, queryset: QuerySet[Conflict]) -> None:
        self._settle(request, queryset, Conflict.Verdict.REJECTED)

    def _settle(self, request: HttpRequest, queryset: QuerySet[Conflict], verdict: str) -> None:
        settled = 0
        for pk in list(queryset.values_list("pk", flat=True)):
            with refusals_as_messages(request):
                conflicts.settle(pk, verdict, actor=request.user.get_username())
                settled += 1
        if settled:
            pairs = "1 pair is" if settled == 1 else f"{settled:,} pairs are"
            self.message_user(request, f"{pairs} {verdict}.", messages.SUCCESS)

    @admin.display(description="created at", ordering="created_at")
    def created(self, pair: Any) -> str:
        return moment(pair.created_at)

    @admin.display(description="older", ordering="older__valid_from")
    def older_text(self, pair: Any) -> str:
        return opening(pair.older_beginning)

    @admin.display(description="newer", ordering="newer__valid_from")
    def newer_text(self, pair: Any) -> str:
        return opening(pair.newer_beginning)

    @admin.display(description="scope", ordering="older__scope")
    def scope(self, pair: Any) -> str:
        return str(pair.scope)

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **options: Any
    ) -> HttpResponse:
        """Both texts beside each other."""
        pair = context["original"]
        sides = (("Older", pair.older), ("Newer", pair.newer))
        context["sides"] = [(title, memory, memory.content[:LONGEST_SHOWN]) for title, memory in sides]
        return super().render_change_form(request, context, *args, **options)
