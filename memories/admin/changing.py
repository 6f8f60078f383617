"""Pin, retag and move a selection of the list; merge two memories. A count is shown and confirmed first."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.widgets import AdminTextInputWidget
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse

from memories.admin.base import plain, refusals_as_messages
from memories.admin.ending import FORM, Ending
from memories.admin.forms import COMMAS
from memories.edit import edit_all, merge
from memories.errors import MemoriesError
from memories.lifecycle import find
from memories.models import Memory
from memories.similar import similar
from memories.texts import LONGEST_SHOWN, counted


class RetagForm(forms.Form):
    add = forms.CharField(required=False, label="Add tags", help_text=COMMAS, widget=AdminTextInputWidget)
    remove = forms.CharField(required=False, label="Remove tags", help_text=COMMAS, widget=AdminTextInputWidget)

    def changes(self) -> dict[str, Any]:
        given = self.cleaned_data
        return {"add_tags": given["add"].split(","), "remove_tags": given["remove"].split(",")}


class MoveForm(forms.Form):
    project = forms.CharField(required=False, help_text="Such as owner/name. Empty: everywhere.")

    def changes(self) -> dict[str, Any]:
        return {"project": self.cleaned_data["project"]}


class MergeForm(forms.Form):
    into = forms.CharField(label="Uid of the memory that stays", min_length=32, max_length=32)


class Changing(Ending):
    @admin.action(permissions=["edit"], description="Pin selected %(verbose_name_plural)s")
    def pin_selected(self, request: HttpRequest, queryset: QuerySet[Memory]) -> HttpResponse | None:
        return self._change(request, queryset, "pin_selected", verb="Pin", pinned=True)

    @admin.action(permissions=["edit"], description="Unpin selected %(verbose_name_plural)s")
    def unpin_selected(self, request: HttpRequest, queryset: QuerySet[Memory]) -> HttpResponse | None:
        return self._change(request, queryset, "unpin_selected", verb="Unpin", pinned=False)

    @admin.action(permissions=["edit"], description="Retag selected %(verbose_name_plural)s")
    def retag_selected(self, request: HttpRequest, queryset: QuerySet[Memory]) -> HttpResponse | None:
        return self._change(request, queryset, "retag_selected", verb="Retag", form=RetagForm)

    @admin.action(permissions=["edit"], description="Move selected %(verbose_name_plural)s to another project")
    def move_selected(self, request: HttpRequest, queryset: QuerySet[Memory]) -> HttpResponse | None:
        return self._change(request, queryset, "move_selected", verb="Move", form=MoveForm)

    def _change(
        self,
        request: HttpRequest,
        queryset: QuerySet[Memory],
        action: str,
        *,
        verb: str,
        form: type[RetagForm | MoveForm] | None = None,
        **changes: Any,
    ) -> HttpResponse | None:
        chosen = plain(queryset).filter(deleted_at=None)
        is_confirmed = "post" in request.POST
        asked = form(request.POST if is_confirmed else None) if form else None
        if not is_confirmed or (asked and not asked.is_valid()):
            return self._confirm_selection(request, chosen, verb=verb, action=action, form=asked)
        with refusals_as_messages(request):
            if asked:
                changes = asked.changes()
            changed = edit_all(chosen, actor=request.user.get_username(), **changes)
            self.message_user(request, f"Changed {counted(changed)}.", messages.SUCCESS)
        return None

    @admin.action(permissions=["edit"], description="Merge into another memory", location=FORM)
    def merge(self, request: HttpRequest, queryset: QuerySet[Memory]) -> HttpResponse:
        return redirect("admin:memories_memory_merge", queryset.get().pk)

    def merge_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """First a choice among what is similar, or any uid; then both texts beside each other, to confirm."""
        memory = self.editable(request, pk)
        into = request.POST.get("into") or request.GET.get("into")
        form = MergeForm({"into": into} if into else None)
        kept = self._target(request, form, memory)
        if kept and request.method == "POST":
            try:
                merge(memory.uid, into=kept.uid, actor=request.user.get_username(), scope=memory.scope)
            except MemoriesError as error:
                form.add_error(None, str(error))
            else:
                self.log_change(request, memory, "Merged into another memory.")
                self.message_user(request, "The two memories are one now.", messages.SUCCESS)
                return redirect("admin:memories_memory_change", kept.pk)
        sides = [("Ends", memory, memory.content[:LONGEST_SHOWN])]
        sides += [("Stays", kept, kept.content[:LONGEST_SHOWN])] if kept else []
        context = {
            **self.admin_site.each_context(request),
            "title": "Merge two memories",
            "opts": self.opts,
            "original": memory,
            "media": self.media,
            "form": form,
            "kept": kept,
            "sides": sides,
            "similar": [] if kept else similar(memory),
            "may_merge": True,
        }
        return TemplateResponse(request, "admin/memories/memory/merge.html", context)

    def _target(self, request: HttpRequest, form: MergeForm, memory: Memory) -> Memory | None:
        if not form.is_valid():
            return None
        try:
            return find(form.cleaned_data["into"], scope=memory.scope)
        except MemoriesError as error:
            form.add_error("into", str(error))
            return None
