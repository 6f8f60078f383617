"""The admin site: the stock one with a dashboard, a recall playground, maintenance, and a login by one-time links."""

from typing import TYPE_CHECKING, Any

from django.contrib.admin import AdminSite
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import path
from django.views.decorators.cache import never_cache

if TYPE_CHECKING:
    from django.urls import URLPattern, URLResolver


class MemorySite(AdminSite):
    site_header = "Agent memory"
    site_title = "Agent memory"
    index_title = "Dashboard"
    site_url = None
    enable_nav_sidebar = True
    login_template = "memsite/login.html"

    def get_urls(self) -> "list[URLResolver | URLPattern]":
        from memsite import pages  # noqa: PLC0415 - reads models, which are not loaded when this module is

        own = {
            "playground": pages.playground,
            "maintenance": pages.maintenance,
            "transfer": pages.transfer,
            "export": pages.export,
        }
        return [
            path("link/", never_cache(self.link), name="link"),
            *(path(f"{name}/", self.admin_view(page), {"site": self}, name=name) for name, page in own.items()),
            *super().get_urls(),
        ]

    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> list[Any]:
        """With the pages that belong to no model."""
        from memsite import pages  # noqa: PLC0415

        apps: list[Any] = super().get_app_list(request, app_label)
        return apps if app_label else [*pages.tools(request.user), *apps]

    def index(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> TemplateResponse:
        from memsite import dashboard  # noqa: PLC0415

        shown = dashboard.dashboard(request.user) if dashboard.sees_memories(request.user) else None
        return super().index(request, {"dashboard": shown, **(extra_context or {})})

    def link(self, request: HttpRequest) -> HttpResponse:
        """Log in by a link of `memory-mcp loginlink`. Its token must not travel on: no page that this answers sends
        a Referer, and nothing here logs more than the path."""
        from sesame.views import LoginView  # noqa: PLC0415 - makes the signing key when it is imported

        try:
            with transaction.atomic():  # of two uses at once the second sees the first
                response: Any = LoginView.as_view(http_method_names=["get"])(request)
        except PermissionDenied:
            context = {**self.each_context(request), "title": "This link does not work"}
            response = TemplateResponse(request, "memsite/link_failed.html", context, status=403)
        response.headers["Referrer-Policy"] = "no-referrer"
        return response  # type: ignore[no-any-return]
