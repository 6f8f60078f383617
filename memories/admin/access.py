"""Who may do what: tokens, grants, and the other names of projects."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import Field, QuerySet
from django.http import HttpRequest

from memories import tokens
from memories.admin.forms import AliasForm, GrantForm, joined
from memories.admin.scopes import ModelAdmin, ReadOnlyAdmin, ScopedAdmin, scope_field, sees_everything
from memories.models import AccessToken, Grant, ProjectAlias


class SuperusersOnly(ModelAdmin):
    """What reaches across scopes: Django's permissions alone do not open it."""

    def has_module_permission(self, request: HttpRequest) -> bool:
        return sees_everything(request.user)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return sees_everything(request.user)


@admin.register(AccessToken)
class AccessTokenAdmin(ReadOnlyAdmin, SuperusersOnly):
    list_display = ("name", "reach", "may_write", "may_maintain", "created_at", "last_used", "revoked")
    list_filter = ("may_write", "may_maintain", ("revoked", admin.EmptyFieldListFilter))
    search_fields = ("name",)
    search_help_text = "A new token is made on the command line: memory-mcp token create NAME. It is shown once, there."
    ordering = ("name",)
    fields = ("name", "reach", "may_write", "may_maintain", "created_at", "last_used", "revoked")
    actions = ("revoke",)

    @admin.display(description="scopes")
    def reach(self, token: Any) -> str:
        return joined(token.scopes) or "every scope"

    @admin.action(
        permissions=["view"],
        description="Revoke this access token",
        description_plural="Revoke selected access tokens",
        location=[admin.ActionLocation.CHANGE_LIST, admin.ActionLocation.CHANGE_FORM],
    )
    def revoke(self, request: HttpRequest, queryset: QuerySet[AccessToken]) -> None:
        names = tokens.revoke(queryset, actor=request.user.get_username())
        self.message_user(request, f"Access tokens revoked: {len(names)}.", messages.SUCCESS)


@admin.register(Grant)
class GrantAdmin(SuperusersOnly):
    form = GrantForm
    list_display = ("user", "scope")
    list_filter = ("scope",)
    list_select_related = ("user",)
    ordering = ("user", "scope", "pk")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return sees_everything(request.user)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return sees_everything(request.user)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return sees_everything(request.user)


@admin.register(ProjectAlias)
class ProjectAliasAdmin(ScopedAdmin):
    form = AliasForm
    list_display = ("alias", "project", "scope")
    list_filter = ("scope",)
    search_fields = ("alias", "project")
    ordering = ("scope", "alias")

    def formfield_for_dbfield(
        self, db_field: "Field[Any, Any]", request: HttpRequest, **options: Any
    ) -> forms.Field | None:
        if db_field.name == "scope":
            return scope_field(request.user)
        return super().formfield_for_dbfield(db_field, request, **options)
