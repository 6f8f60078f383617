"""Access tokens of clients: made, and ended at once. The audit knows of both."""

import hashlib
import secrets
from collections.abc import Sequence

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet

from memories import audit, clock
from memories.errors import Rejected
from memories.models import AccessToken
from memories.places import label

PREFIX = "memsite_"


def create(
    name: str, *, scopes: Sequence[str] = (), may_write: bool = True, may_maintain: bool = False, actor: str
) -> str:
    """A new bearer token; no scopes means all. It is given once, only its hash is kept. Raises Rejected."""
    reach = [label(scope, name="scope") for scope in scopes]
    if not all(reach):
        raise Rejected("A scope needs a name; leave it out for a token that reaches every scope.")
    token = PREFIX + secrets.token_urlsafe(32)
    row = AccessToken(
        name=name.strip(),
        token_hash=hash_of(token),
        scopes=reach,
        may_write=may_write,
        may_maintain=may_maintain,
        created_at=clock.now(),
    )
    try:
        row.full_clean()
    except ValidationError as error:
        raise Rejected(" ".join(error.messages)) from None
    with transaction.atomic():
        row.save()
        audit.record("token", actor=actor, scope="", now=row.created_at, token=row.name)
    return token


@transaction.atomic
def revoke(tokens: QuerySet[AccessToken], *, actor: str) -> list[str]:
    """End those that are not ended yet. Returns their names."""
    now = clock.now()
    ending = tokens.filter(revoked=None)
    names = list(ending.order_by("name").values_list("name", flat=True))
    ending.update(revoked=now)
    for name in names:
        audit.record("revoke", actor=actor, scope="", now=now, token=name)
    return names


def hash_of(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()
