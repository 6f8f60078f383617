"""Which project a request means, of those its scope knows."""

import re

from memories import statements
from memories.cleaning import clean_label
from memories.conf import config
from memories.errors import Rejected
from memories.models import LABEL, Memory, ProjectAlias
from memories.projects import project_of
from memories.querysets import ANY_PROJECT
from memories.secrets import redact

SHORTEST_SECRET = 12
_ABSOLUTE = re.compile(r"[/~\\]|[A-Za-z]:[/\\]")


def label(value: str | None, *, name: str) -> str:
    """A short free text as it is stored. Raises Rejected when it is longer than 200 characters."""
    if not value:
        return ""
    text = clean_label(value)
    if len(text) >= SHORTEST_SECRET and config().redact_secrets:
        text, _ = redact(text)
    if len(text) > LABEL:
        raise Rejected(f"{name} may have at most {LABEL} characters; this one has {len(text)}.")
    return text


def project_to_write(project: str | None, *, cwd: str | None, scope: str) -> str:
    """The project a new memory belongs to; "" for one that holds everywhere."""
    found = project_to_read(project, cwd=cwd, scope=scope)
    return "" if found == ANY_PROJECT else found


def project_to_read(project: str | None, *, cwd: str | None, scope: str) -> str:
    """The project to look in; `*` for the whole scope."""
    named = label(project, name="project")
    if named == ANY_PROJECT:
        return ANY_PROJECT
    found = _known(named, scope=scope) if named else ""
    return found or _of_folder(cwd, scope=scope) or ANY_PROJECT


def _of_folder(cwd: str | None, *, scope: str) -> str:
    return _aliased(project_of(cwd), scope=scope) if cwd else ""


def _known(name: str, *, scope: str) -> str:
    if _ABSOLUTE.match(name):
        return _of_folder(name, scope=scope)
    aliased = _aliased(name, scope=scope)
    if aliased != name or "/" in name:
        return aliased
    known = Memory.objects.in_scope(scope).order_by()
    if known.filter(project=name).exists():
        return name
    ending = list(known.filter(project__endswith=f"/{name}").values_list("project", flat=True).distinct()[:2])
    return ending[0] if len(ending) == 1 else name


def _aliased(name: str, *, scope: str) -> str:
    if not name or not statements.exists(ProjectAlias.objects.all):  # most stores have none, and asking costs the least
        return name
    aliases = ProjectAlias.objects.filter(scope=scope, alias=name).values_list("project", flat=True)
    return next(iter(aliases), name)
