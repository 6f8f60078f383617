"""What the templates of this package need."""

from collections.abc import Mapping
from typing import Any

from django import template

from telemetry import injections

register = template.Library()
INJECTIONS_SHOWN = 10


@register.filter
def entry(values: Mapping[str, str], name: str) -> str:
    return values.get(name, "")


@register.inclusion_tag("memsite/injections.html")
def injections_of(uid: str, user: Any) -> dict[str, Any]:
    """The last injections of a memory, for who may see injections."""
    if not user.has_perm("telemetry.view_injection"):
        return {"may_see": False}
    found = injections.of_memory(uid)
    return {"may_see": True, "uid": uid, "injections": list(found[:INJECTIONS_SHOWN]), "total": found.count()}
