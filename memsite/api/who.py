"""Who makes a request, and what of the store that reaches."""

from typing import cast

from django.conf import settings
from django.http import HttpRequest

from memories import lifecycle
from memories.places import label
from memories.principal import ANYONE, Principal


def principal(request: HttpRequest) -> Principal:
    """As the guard found it; in process (tests, commands) there is no guard and so no limit."""
    scope = getattr(request, "scope", {})
    return cast("Principal", scope.get("memories.principal", ANYONE))


def writer(request: HttpRequest) -> Principal:
    who = principal(request)
    who.check_write()
    return who


def scope(request: HttpRequest, asked: str | None) -> str:
    return principal(request).scope(label(asked, name="scope"), default=settings.MEMORY.scope)


def scope_of(request: HttpRequest, uid: str) -> str:
    """The scope of a memory that the principal reaches. Raises NotFound."""
    return lifecycle.find_in_reach(uid, principal(request)).scope
