"""Forget, restore and pin, from the page of one memory and for a selection of the list."""

from itertools import batched
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils.html import format_html

from memories import lifecycle
from memories.admin.base import MemoryBase, plain, refusals_as_messages
from memories.admin.scopes import memory_link
from memories.edit import edit
from memories.errors import NotFound
from memories.models import Memory
from memories.querysets import MemoryQuerySet
from memories.texts import counted, opening
from memories.truth.chains import replaced_by

SHOWN = 20
"""Memories that a confirmation page names."""
FORM = admin.ActionLocation.CHANGE_FORM


class Ending(MemoryBase):
    @admin.action(permissions=["edit"], description="Forget selected %(verbose_name_plural)s")
    def forget_selected(self, request: HttpRequest, queryset: QuerySet[Memory]) -> HttpResponse | None:
        chosen = plain(queryset).filter(deleted_at=None)
        if "post" not in request.POST:
            return self._confirm_selection(request, chosen, verb="Forget", action="forget_selected")
        with refusals_as_messages(request):
            forgotten = lifecycle.forget_all(chosen, actor=request.user.get_username())
            self.message_user(request, f"Forgot {counted(len(forgotten.uids))}.", messages.SUCCESS)
        return None

    @admin.action(permissions=["edit"], description="Restore selected %(verbose_name_plural)s")
    def restore_selected(self, request: HttpRequest, queryset: QuerySet[Memory]) -> HttpResponse | None:
        chosen = plain(queryset).forgotten()
        if "post" not in request.POST:
            return self._confirm_selection(request, chosen, verb="Restore", action="restore_selected")
        with refusals_as_messages(request):
            restored = _restore_all(chosen, actor=request.user.get_username())
            self.message_user(request, f"Restored {counted(restored)}.", messages.SUCCESS)
        return None

    @admin.action(permissions=["edit"], description="Forget", location=FORM)
    def forget(self, request: HttpRequest, queryset: QuerySet[Memory]) -> HttpResponse:
        return redirect("admin:memories_memory_forget", queryset.get().pk)

    @admin.action(permissions=["edit"], description="Forget with its earlier versions", location=FORM)
    def forget_chain(self, request: HttpRequest, queryset: QuerySet[Memory]) -> HttpResponse:
        return redirect("admin:memories_memory_forget_chain", queryset.get().pk)

    @admin.action(permissions=["edit"], description="Restore", location=FORM)
    def restore(self, request: HttpRequest, queryset: QuerySet[Memory]) -> None:
        memory = queryset.get()
        with refusals_as_messages(request):
            restored = lifecycle.restore(memory.uid, actor=request.user.get_username(), scope=memory.scope)
            self.log_change(request, memory, "Restored.")
            note = " The same text lived meanwhile: it goes on there." if restored.merged_into else ""
            self.message_user(request, f"The memory was restored.{note}", messages.SUCCESS)

    @admin.action(permissions=["edit"], description="Pin", location=FORM)
    def pin(self, request: HttpRequest, queryset: QuerySet[Memory]) -> None:
        self._set_pin(request, queryset.get(), pinned=True)

    @admin.action(permissions=["edit"], description="Unpin", location=FORM)
    def unpin(self, request: HttpRequest, queryset: QuerySet[Memory]) -> None:
        self._set_pin(request, queryset.get(), pinned=False)

    def _set_pin(self, request: HttpRequest, memory: Memory, *, pinned: bool) -> None:
        with refusals_as_messages(request):
            edit(memory.uid, actor=request.user.get_username(), scope=memory.scope, pinned=pinned)
            done = "Pinned." if pinned else "Unpinned."
            self.log_change(request, memory, done)
            self.message_user(request, done, messages.SUCCESS)

    def forget_view(self, request: HttpRequest, pk: int, *, chain: bool) -> HttpResponse:
        memory = self.editable(request, pk)
        if request.method != "POST":
            doomed = [memory, *(replaced_by(memory) if chain else [])]
            return self._confirm(request, doomed[:SHOWN], verb="Forget", count=len(doomed), memory=memory)
        with refusals_as_messages(request):
            actor = request.user.get_username()
            forgotten = lifecycle.forget(memory.uid, actor=actor, scope=memory.scope, chain=chain)
            self.log_change(request, memory, "Forgotten.")
            self.message_user(request, f"Forgot {counted(len(forgotten.uids))}.", messages.SUCCESS)
            for ended in forgotten.ended:
                sentence = "An older memory that it had ended stays ended; restore {} if that holds again."
                self.message_user(request, format_html(sentence, memory_link(ended)), messages.WARNING)
        return redirect("admin:memories_memory_change", pk)

    def _confirm_selection(
        self, request: HttpRequest, chosen: MemoryQuerySet, *, verb: str, action: str, **extra: Any
    ) -> HttpResponse:
        across = request.POST.get("select_across") == "1"
        selected = request.POST.getlist(ACTION_CHECKBOX_NAME)
        hidden = [("action", action), ("select_across", "1" if across else "0")]
        # Django asks for at least one selected row, also with select_across.
        hidden += [(ACTION_CHECKBOX_NAME, pk) for pk in (selected[:1] if across else selected)]
        return self._confirm(request, chosen[:SHOWN], verb=verb, count=chosen.count(), hidden=hidden, **extra)

    def _confirm(self, request: HttpRequest, memories: Any, *, verb: str, count: int, **extra: Any) -> HttpResponse:
        what = "this memory" if extra.get("memory") and count == 1 else counted(count)
        context = {
            **self.admin_site.each_context(request),
            "title": f"{verb} {what}?",
            "opts": self.opts,
            "media": self.media,
            "verb": verb,
            "count": count,
            "rows": [(memory, opening(memory.content)) for memory in memories],
            "more": max(0, count - SHOWN),
            "back": request.get_full_path(),
            **extra,
        }
        return TemplateResponse(request, "admin/memories/memory/confirm.html", context)


def _restore_all(chosen: MemoryQuerySet, *, actor: str) -> int:
    """How many were brought back; what another person restored meanwhile does not count."""
    restored = 0
    for batch in batched(chosen.values_list("uid", "scope"), lifecycle.BATCH, strict=False):
        with transaction.atomic():
            for uid, scope in batch:
                try:
                    lifecycle.restore(uid, actor=actor, scope=scope)
                except NotFound:
                    continue
                restored += 1
    return restored
