"""The list of memories and the page of one."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, ClassVar

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, path

from memories.admin import filters
from memories.admin.audit import detail
from memories.admin.changing import Changing
from memories.admin.differences import Piece, differences
from memories.admin.ending import FORM
from memories.admin.forms import joined
from memories.admin.searching import Searching
from memories.admin.writing import Writing
from memories.models import AuditEntry, Memory
from memories.similar import similar
from memories.texts import LONGEST_SHOWN, moment, opening
from memories.truth import conflicts
from memories.truth.chains import chain_of

AUDITED = 20
"""Audit entries on the page of a memory."""
OFFERED = {
    "forgotten": {"restore"},
    "superseded": {"forget", "forget_chain", "edit", "pin", "unpin"},
    "live": {"correct", "changed", "edit", "pin", "unpin", "merge", "forget", "forget_chain"},
}
"""Which actions make sense for a memory in which state."""
PROVENANCE = (
    ("source", "harness", "session"),
    ("actor", "tier", "confidence"),
    ("created_at", "updated_at"),
    ("access_count", "last_accessed_at"),
    ("injection_count", "last_injected_at"),
    "content_hash",
    "run",
)


@admin.register(Memory)
class MemoryAdmin(Searching, Writing, Changing):
    list_display = ("text", "state", "pin_mark", "kind", "project", "scope", "since", "source", "tier")
    list_filter = (
        filters.StateFilter,
        filters.ScopeFilter,
        filters.ProjectFilter,
        "kind",
        filters.UseFilter,
        "tier",
        "source",
        filters.VectorFilter,
    )
    list_per_page = 50
    ordering = ("-updated_at", "-pk")
    actions = (
        "correct",
        "changed",
        "edit",
        "pin",
        "unpin",
        "forget",
        "forget_chain",
        "restore",
        "merge",
        "forget_selected",
        "restore_selected",
        "pin_selected",
        "unpin_selected",
        "retag_selected",
        "move_selected",
    )
    fieldsets: ClassVar = (
        (None, {"fields": ("uid", ("state", "kind", "pin_mark"), ("scope", "project", "tags_line"))}),
        ("Validity", {"fields": (("valid_from", "valid_to", "superseded_reason"), ("expires_at", "deleted_at"))}),
        ("Provenance", {"classes": ("collapse",), "fields": PROVENANCE}),
    )
    change_form_template = "admin/memories/memory/change_form.html"

    class Media:
        css: ClassVar = {"all": ["memories/admin.css"]}

    def get_list_display(self, request: HttpRequest) -> Any:
        """The state only where rows differ in it: the list is wide enough."""
        chosen = request.GET.get("state", filters.LIVE)
        hidden = chosen != "all" and not filters.is_uid(request.GET.get("q", "").strip())
        return [name for name in self.list_display if not (hidden and name == "state")]

    @admin.display(description="text")
    def text(self, memory: Any) -> str:
        return opening(memory.beginning)

    @admin.display(description="state")
    def state(self, memory: Any) -> str:
        return str(memory.state)

    @admin.display(description="pinned", ordering="pinned")
    def pin_mark(self, memory: Memory) -> str:
        return "pinned" if memory.pinned else self.get_empty_value_display()

    @admin.display(description="valid from", ordering="valid_from")
    def since(self, memory: Memory) -> str:
        return moment(memory.valid_from)

    @admin.display(description="tags")
    def tags_line(self, memory: Memory) -> str:
        return joined(memory.tags) or self.get_empty_value_display()

    @admin.action(permissions=["edit"], description="Correct (it was never so)", location=FORM)
    def correct(self, request: HttpRequest, queryset: QuerySet[Memory]) -> HttpResponse:
        return redirect("admin:memories_memory_correct", queryset.get().pk)

    @admin.action(permissions=["edit"], description="It changed (was so until now)", location=FORM)
    def changed(self, request: HttpRequest, queryset: QuerySet[Memory]) -> HttpResponse:
        return redirect("admin:memories_memory_changed", queryset.get().pk)

    @admin.action(permissions=["edit"], description="Edit kind, tags, project", location=FORM)
    def edit(self, request: HttpRequest, queryset: QuerySet[Memory]) -> HttpResponse:
        return redirect("admin:memories_memory_edit", queryset.get().pk)

    def get_action_choices(
        self,
        request: HttpRequest,
        default_choices: Any = None,
        action_location: admin.ActionLocation = admin.ActionLocation.CHANGE_LIST,
    ) -> list[tuple[str, str]]:
        """On the page of a memory only what makes sense in its state."""
        choices = super().get_action_choices(request, default_choices, action_location)
        match = request.resolver_match
        if action_location is not FORM or match is None:
            return choices
        memory = self.get_object(request, match.kwargs["object_id"])
        return [choice for choice in choices if not choice[0] or choice[0] in _offered(memory)]

    def get_urls(self) -> list[URLPattern]:
        pages: dict[str, Callable[..., HttpResponse]] = {
            "text": self.text_view,
            "correct": partial(self.replace_view, correction=True),
            "changed": partial(self.replace_view, correction=False),
            "edit": self.edit_view,
            "merge": self.merge_view,
            "forget": partial(self.forget_view, chain=False),
            "forget_chain": partial(self.forget_view, chain=True),
        }
        view = self.admin_site.admin_view
        return [
            path("uid/<str:uid>/", view(self.uid_view), name="memories_memory_by_uid"),
            *(
                path(f"<int:pk>/{name.replace('_', '-')}/", view(page), name=f"memories_memory_{name}")
                for name, page in pages.items()
            ),
            *super().get_urls(),
        ]

    def uid_view(self, request: HttpRequest, uid: str) -> HttpResponse:
        """To the page of the memory with this uid."""
        memory = self.get_queryset(request).filter(uid=uid).first()
        if memory:
            return redirect("admin:memories_memory_change", memory.pk)
        self.message_user(request, "This memory is not here any more.", messages.WARNING)
        return redirect("admin:memories_memory_changelist")

    def text_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """The whole text, as text."""
        memory = self.viewable(request, pk)
        headers = {
            "Content-Disposition": f'inline; filename="{memory.uid}.txt"',
            "X-Content-Type-Options": "nosniff",
        }
        return HttpResponse(memory.content, content_type="text/plain; charset=utf-8", headers=headers)

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **options: Any
    ) -> HttpResponse:
        memory = context["original"]
        if memory is not None:
            context.update(_shown(memory), may_merge=self.has_edit_permission(request) and memory.state == filters.LIVE)
        return super().render_change_form(request, context, *args, **options)


def _offered(memory: Any) -> set[str]:
    if memory is None:
        return set()
    state = memory.state if memory.state in OFFERED else filters.LIVE
    again = {"restore"} if conflicts.orphans().filter(pk=memory.pk).exists() else set()
    return (OFFERED[state] | again) - {"pin" if memory.pinned else "unpin"}


def _shown(memory: Memory) -> dict[str, Any]:
    versions = chain_of(memory)
    entries = AuditEntry.objects.filter(memory_uid=memory.uid)
    return {
        "shown_text": memory.content[:LONGEST_SHOWN],
        "characters": len(memory.content),
        "cut": len(memory.content) > LONGEST_SHOWN,
        "longest_shown": LONGEST_SHOWN,
        "versions": list(_with_differences(versions)) if len(versions) > 1 else [],
        "conflicts": list(conflicts.of_memory(memory)),
        "similar": similar(memory) if memory.deleted_at is None else [],
        "audit_entries": [(entry, detail(entry)) for entry in entries[:AUDITED]],
    }


def _with_differences(versions: list[Memory]) -> Iterator[tuple[Memory, str, list[Piece]]]:
    """Each version with its beginning, and what it changed in the one before."""
    before: Memory | None = None
    for version in versions:
        yield version, opening(version.content), differences(before.content, version.content) if before else []
        before = version
