"""Who makes a request, and what of the store that reaches."""

from typing import cast

from django.conf import settings
from django.http import HttpRequest

from memories import lifecycle
from memories.places import label
from memories.principal import Principal


def principal(request: HttpRequest) -> Principal:
    """As the application found it before any view; a request that did not pass there fails."""
    scope = request.scope  # type: ignore[attr-defined]  # each is an ASGIRequest
    return cast("Principal", scope["memories.principal"])


def writer(request: HttpRequest) -> Principal:
    who = principal(request)
    who.check_write()
    return who


def scope(request: HttpRequest, asked: str | None) -> str:
    return principal(request).scope(label(asked, name="scope"), default=settings.MEMORY.scope)


def scope_of(request: HttpRequest, uid: str) -> str:
    """The scope of a memory that the principal reaches. Raises NotFound."""
    return lifecycle.find_in_reach(uid, principal(request)).scope
