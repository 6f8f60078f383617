"""What an admin user may see: a superuser everything, staff the scopes of their grants.

A grant says where, Django's permissions say what: staff need both.
"""

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin
from django.contrib.admin.widgets import AdminTextInputWidget
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, User
from django.core.exceptions import ValidationError
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from memories.conf import config
from memories.errors import Rejected
from memories.models import LABEL, Grant, Memory
from memories.places import label

type Visitor = User | AbstractBaseUser | AnonymousUser

if TYPE_CHECKING:
    ModelAdmin = admin.ModelAdmin[Any]
else:
    ModelAdmin = admin.ModelAdmin


def sees_everything(user: Visitor) -> bool:
    return bool(getattr(user, "is_superuser", False))


def visible[M: Model](rows: QuerySet[M], user: Visitor) -> QuerySet[M]:
    """The rows in the scopes that a user may see; each has a field `scope`."""
    if sees_everything(user):
        return rows
    return rows.filter(scope__in=Grant.objects.filter(user=user.pk).values("scope"))


def scopes_of(user: Visitor) -> list[str]:
    """The names of the scopes that a user may see; for a superuser those that hold memories."""
    if sees_everything(user):
        return list(Memory.objects.order_by("scope").values_list("scope", flat=True).distinct())
    return list(Grant.objects.filter(user=user.pk).order_by("scope").values_list("scope", flat=True))


def reach(user: Visitor) -> tuple[str, ...]:
    """The scopes that a user may see, for the domain: () means all. Who may see none gets a scope that cannot exist."""
    return () if sees_everything(user) else tuple(scopes_of(user)) or ("",)


def scope_field(user: Visitor) -> forms.Field:
    """Free for a superuser, else a choice among the granted scopes."""
    if sees_everything(user):
        return forms.CharField(max_length=LABEL, initial=config().scope, widget=AdminTextInputWidget)
    return forms.ChoiceField(choices=[(scope, scope) for scope in scopes_of(user)])


def clean_label(value: str, *, name: str) -> str:
    """A label as the domain stores it; what the domain refuses is an error of the form."""
    try:
        return label(value, name=name)
    except Rejected as error:
        raise ValidationError(str(error)) from error


def memory_link(uid: str) -> SafeString | str:
    """A link to a memory that may be gone; it costs no query."""
    if not uid:
        return ""
    return format_html('<a href="{}">{}</a>', reverse("admin:memories_memory_by_uid", args=[uid]), uid)


class ScopedAdmin(ModelAdmin):
    """Of a model with a field `scope`."""

    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return visible(super().get_queryset(request), request.user)


class ReadOnlyAdmin(ModelAdmin):
    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False
