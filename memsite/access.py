"""Who a request comes from: bearer tokens, and the one-time link that opens the admin."""

import hmac
from datetime import timedelta

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser, User
from django.db.models import QuerySet
from django.utils import timezone

from mcpbridge import pool
from memories import statements
from memories.errors import NotFound, Unauthorized
from memories.models import AccessToken
from memories.principal import Principal
from memories.tokens import hash_of

LOGIN_LINK_PATH = "/admin/link/"
USE_RECORDED_EVERY = timedelta(minutes=1)

OWNER = Principal(name="owner")
VISITOR = Principal(may_maintain=False)
"""Anyone, while authentication is off; also who sees the open pages."""


def authentication_is_on() -> bool:
    return bool(settings.MEMORY.token) or statements.exists(unrevoked)


def unrevoked() -> QuerySet[AccessToken]:
    return AccessToken.objects.filter(revoked=None)


def authenticate(authorization: str | None) -> Principal:
    """Who the value of an Authorization header stands for; VISITOR while authentication is off.

    Raises Unauthorized when authentication is on and the header names no valid token.
    """
    bearer = _bearer(authorization)
    if not bearer and not authentication_is_on():
        return VISITOR
    given = hash_of(bearer)
    owner = settings.MEMORY.token
    if owner and hmac.compare_digest(given, hash_of(owner)):
        return OWNER
    # All of them, since the existence of any means that authentication is on; there are few.
    tokens = list(unrevoked())
    for token in tokens:
        if hmac.compare_digest(given, token.token_hash):
            _record_use(token)
            return _client(token)
    if owner or tokens:
        raise Unauthorized("Send Authorization: Bearer with MEMORY_TOKEN or an unrevoked access token.")
    return VISITOR


def login_link(url: str, username: str = "") -> str:
    """A link that logs a superuser into the admin at `url`, once, within five minutes. Never log it."""
    from sesame.utils import get_query_string  # noqa: PLC0415 - makes the signing key when it is imported

    users = User.objects.filter(is_active=True, is_staff=True).order_by("-is_superuser", "pk")
    user: AbstractBaseUser | None = (users.filter(username=username) if username else users).first()
    if user is None:
        raise NotFound(f"There is no active admin user {username!r}." if username else "There is no admin user.")
    return url.rstrip("/") + LOGIN_LINK_PATH + str(get_query_string(user))


def _client(token: AccessToken) -> Principal:
    return Principal(
        name=token.name,
        scopes=frozenset(token.scopes),
        may_write=token.may_write,
        may_maintain=token.may_maintain,
    )


def _bearer(authorization: str | None) -> str:
    scheme, _, token = (authorization or "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def _record_use(token: AccessToken) -> None:
    now = timezone.now()
    if token.last_used is None or now - token.last_used >= USE_RECORDED_EVERY:
        # Not in this request: it may only read, and must not wait for a writer.
        pool.soon(AccessToken.objects.filter(pk=token.pk).update, last_used=now)
