"""The pages of the admin that belong to no model: each reads a form and calls one function."""

from collections.abc import Iterator
from typing import Any

from django.contrib.admin import AdminSite
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.http import content_disposition_header

from memories import embedding, lifecycle
from memories.clock import now
from memories.errors import MemoriesError
from memories.transfer.report import Report
from memsite import jobs, tasks, transfers
from memsite.access import authentication_is_on
from memsite.dashboard import Visitor, sees_memories
from memsite.playground import AskForm, gate, rows
from memsite.transfers import ExportForm, ImportForm, Streamed

POLL_SECONDS = 2
TITLES = {"playground": "Recall playground", "maintenance": "Maintenance", "transfer": "Export and import"}


def tools(user: Visitor) -> Iterator[dict[str, Any]]:
    """What the navigation shows above the models, in the form of Django's list of apps."""
    owned = ["maintenance", "transfer"] if tasks.is_owner(user) else []
    names = [*(["playground"] if sees_memories(user) else []), *owned]
    models = [
        {
            "name": TITLES[name],
            "object_name": name,
            "admin_url": reverse(f"admin:{name}"),
            "add_url": None,
            "view_only": True,
            "perms": {"view": True},
        }
        for name in names
    ]
    if models:
        yield {
            "name": "Tools",
            "app_label": "tools",
            "app_url": models[0]["admin_url"],
            "has_module_perms": True,
            "models": models,
        }


def playground(request: HttpRequest, *, site: AdminSite) -> HttpResponse:
    """Ask like an agent. By POST: a query may be private, and addresses are kept in histories and logs."""
    if not sees_memories(request.user):
        raise PermissionDenied
    form = AskForm(request.POST if request.method == "POST" else None, user=request.user)
    examined = form.examined()
    context = {
        **site.each_context(request),
        "title": "Recall playground",
        "form": form,
        "examined": examined,
        "rows": rows(examined) if examined else (),
        "gate": gate(),
    }
    return TemplateResponse(request, "memsite/playground.html", context)


def maintenance(request: HttpRequest, *, site: AdminSite) -> HttpResponse:
    """Start a job, or look at the one that runs: while one does, the page loads itself again."""
    if not tasks.is_owner(request.user):
        raise PermissionDenied
    problem, status = "", 200
    if request.method == "POST":
        try:
            tasks.start(
                request.POST.get("task", ""), user=request.user, confirmed=request.POST.get("confirmed") == "yes"
            )
        except MemoriesError as error:
            problem, status = str(error), error.status
        else:
            return redirect("admin:maintenance")
    job = jobs.last()
    forgotten, expired = lifecycle.doomed(now())
    context = {
        **site.each_context(request),
        "title": "Maintenance",
        "tasks": tasks.TASKS.values(),
        "job": job,
        "job_title": tasks.TASKS[job.name].title if job and job.name in tasks.TASKS else "",
        "problem": problem,
        "is_open": authentication_is_on(),
        "closed": tasks.CLOSED,
        "figures": {
            "purge": f"{forgotten:,} forgotten and {expired:,} expired memories would be removed now.",
            "backfill": f"{embedding.count_pending():,} memories wait for vectors.",
        },
        "poll_seconds": POLL_SECONDS,
    }
    response = TemplateResponse(request, "memsite/maintenance.html", context, status=status)
    if job and job.is_running:
        response.headers["Refresh"] = str(POLL_SECONDS)
    return response


def transfer(request: HttpRequest, *, site: AdminSite) -> HttpResponse:
    """Look at both forms, or import a file and read what became of it."""
    if not tasks.is_owner(request.user):
        raise PermissionDenied
    if request.method != "POST":
        return _transfer(request, site, ExportForm(user=request.user), ImportForm(user=request.user))
    form = ImportForm(request.POST, request.FILES, user=request.user)
    return _transfer(request, site, ExportForm(user=request.user), form, form.report())


def export(request: HttpRequest, *, site: AdminSite) -> HttpResponseBase:
    """A download. By POST: no other page can make a browser fetch it."""
    if not tasks.is_owner(request.user):
        raise PermissionDenied
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    form = ExportForm(request.POST, user=request.user)
    lines = form.lines()
    if lines is None:
        return _transfer(request, site, form, ImportForm(user=request.user))
    name = form.cleaned_data["format"]
    response = StreamingHttpResponse(Streamed(lines), content_type=transfers.TYPES[name])
    file = f"memories-{now():%Y%m%d-%H%M%S}.{name}"
    response.headers["Content-Disposition"] = content_disposition_header(as_attachment=True, filename=file)
    response.headers["X-Content-Type-Options"] = "nosniff"
    return response


def _transfer(
    request: HttpRequest,
    site: AdminSite,
    export_form: ExportForm,
    import_form: ImportForm,
    report: Report | None = None,
) -> HttpResponse:
    context = {
        **site.each_context(request),
        "title": TITLES["transfer"],
        "export_form": export_form,
        "import_form": import_form,
        "shown": transfers.shown(report) if report else None,
        "most_shown": transfers.MOST_SHOWN,
    }
    status = 422 if export_form.errors or import_form.errors else 200
    return TemplateResponse(request, "memsite/transfer.html", context, status=status)
