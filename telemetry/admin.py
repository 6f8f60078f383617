"""What entered prompts, to look at."""

from typing import Any

from django.contrib import admin
from django.db.models import Count, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from memories.admin.filters import TimeFilter, ValuesFilter
from memories.admin.scopes import ReadOnlyAdmin, ScopedAdmin, memory_link
from telemetry.models import HarnessSession, Injection


@admin.register(Injection)
class InjectionAdmin(ReadOnlyAdmin, ScopedAdmin):
    list_display = ("at", "harness", "hook", "project", "scope", "session", "count", "chars")
    list_filter = (("at", TimeFilter), ("harness", ValuesFilter), ("hook", ValuesFilter), ("project", ValuesFilter))
    search_fields = ("=memories__memory_uid", "=session")
    search_help_text = "A memory's uid, or a session."
    list_per_page = 50
    fields = (
        "at",
        "harness",
        "hook",
        "scope",
        "project",
        "session",
        "prompt",
        "query",
        "injected",
        "chars",
        "fingerprint",
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows: QuerySet[Any] = super().get_queryset(request).annotate(injected_count=Count("memories"))
        return rows

    @admin.display(description="memories")
    def count(self, injection: Any) -> int:
        return int(injection.injected_count)

    @admin.display(description="memories")
    def injected(self, injection: Any) -> SafeString:
        uids = injection.memories.order_by("pk").values_list("memory_uid", flat=True)
        return format_html_join("\n", "{}<br>", ((memory_link(uid),) for uid in uids))


@admin.register(HarnessSession)
class HarnessSessionAdmin(ReadOnlyAdmin, ScopedAdmin):
    list_display = ("session", "harness", "project", "scope", "prompts", "context_started_at", "last_seen")
    list_filter = (("harness", ValuesFilter), ("project", ValuesFilter))
    list_per_page = 50
    ordering = ("-last_seen", "-pk")
    search_fields = ("=session",)
