"""The pages that write: add, correct, it changed, edit. Each reads a form and calls one function of the domain."""

from collections.abc import Callable
from typing import Any, cast

from django import forms
from django.contrib import messages
from django.contrib.admin.helpers import AdminForm
from django.core.exceptions import PermissionDenied
from django.db import OperationalError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse

from memories import clock
from memories.admin.base import MemoryBase
from memories.admin.forms import AddForm, EditForm, Labels, ReplaceForm
from memories.draft import Draft, rest_of_ttl
from memories.edit import edit
from memories.errors import MemoriesError, Rejected, from_database
from memories.models import Memory, Source
from memories.remember import Remembered, remember

CORRECT = "Correct: it was never so"
CHANGED = "It changed: what was true ends now"


class Writing(MemoryBase):
    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        if not self.has_add_permission(request):
            raise PermissionDenied
        form = AddForm(_posted(request), user=request.user)
        answer = _stored(form, lambda: remember(_new(form, request)))
        if answer:
            return self._kept(request, answer, text="Added.")
        return self._page(request, form, title="Add memory")

    def replace_view(self, request: HttpRequest, pk: int, *, correction: bool) -> HttpResponse:
        memory = self.editable(request, pk)
        form = ReplaceForm(_posted(request), initial=ReplaceForm.initial_of(memory))
        answer = _stored(form, lambda: remember(_successor(form, request, memory, correction=correction)))
        if answer:
            return self._kept(request, answer, text="Corrected." if correction else "Changed.")
        return self._page(request, form, title=CORRECT if correction else CHANGED, memory=memory)

    def edit_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        memory = self.editable(request, pk)
        form = EditForm(_posted(request), initial=EditForm.initial_of(memory))
        kept = _stored(form, lambda: _edited(form, request, memory))
        if kept:
            self.log_change(request, kept, "Edited.")
            self.message_user(request, "The memory was edited.", messages.SUCCESS)
            return redirect("admin:memories_memory_change", kept.pk)
        return self._page(request, form, title="Edit kind, tags, project", memory=memory)

    def _kept(self, request: HttpRequest, answer: Remembered, *, text: str) -> HttpResponse:
        """To the page of the memory that holds the text now, with what is to be known about it."""
        memory = Memory.objects.only("uid", "kind").get(uid=answer.uid)
        if answer.status == "refreshed":
            self.log_change(request, memory, "Stored again.")
            self.message_user(request, "This text was kept already; its memory was refreshed.", messages.WARNING)
        else:
            self.log_addition(request, memory, text)
            self.message_user(request, "The memory was stored.", messages.SUCCESS)
        if answer.redacted:
            secrets = ", ".join(answer.redacted)
            self.message_user(request, f"Secrets were redacted before storing: {secrets}.", messages.WARNING)
        return redirect("admin:memories_memory_change", memory.pk)

    def _page(
        self, request: HttpRequest, form: forms.Form, *, title: str, memory: Memory | None = None
    ) -> HttpResponse:
        context = {
            **self.admin_site.each_context(request),
            "title": title,
            "subtitle": str(memory) if memory else None,
            "opts": self.opts,
            "original": memory,
            "adminform": AdminForm(cast("forms.ModelForm[Memory]", form), [(None, {"fields": [*form.fields]})], {}),
            "errors": form.errors,
            "media": self.media + form.media,
        }
        return TemplateResponse(request, "admin/memories/memory/write.html", context)


def _posted(request: HttpRequest) -> Any:
    return request.POST if request.method == "POST" else None


def _stored[T](form: forms.Form, write: Callable[[], T]) -> T | None:
    """What the domain answered; None if the form is not filled in, or says now what is wrong with it."""
    if not form.is_valid():
        return None
    try:
        return write()
    except MemoriesError as error:
        form.add_error(None, str(error))
    except OperationalError as error:
        form.add_error(None, str(from_database(error)))
    return None


def _new(form: AddForm, request: HttpRequest) -> Draft:
    given = form.cleaned_data
    return Draft(
        content=given["content"],
        kind=given["kind"],
        scope=given["scope"],
        project=given["project"],
        tags=given["tags"].split(","),
        pinned=given["pinned"],
        ttl_seconds=given["ttl_seconds"],
        valid_from=given["valid_from"],
        source=Source.ADMIN,
        actor=request.user.get_username(),
    )


def _successor(form: ReplaceForm, request: HttpRequest, memory: Memory, *, correction: bool) -> Draft:
    return Draft(
        content=form.cleaned_data["content"],
        kind=form.changed("kind"),
        tags=form.changed("tags"),
        scope=memory.scope,
        supersedes=[memory.uid],
        ttl_seconds=rest_of_ttl(memory, now=clock.now()),
        correction=correction,
        source=Source.ADMIN,
        actor=request.user.get_username(),
    )


def _edited(form: Labels, request: HttpRequest, memory: Memory) -> Memory:
    if not form.changed_data:
        raise Rejected("Nothing was changed.")
    return edit(
        memory.uid,
        actor=request.user.get_username(),
        scope=memory.scope,
        tags=form.changed("tags"),
        kind=form.changed("kind"),
        project=form.changed("project"),
    )
