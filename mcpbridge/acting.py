"""For whom a call is made. HTTP sets it for each request, stdio once; a call without it fails."""

from collections.abc import Iterable
from contextvars import ContextVar

from memories.conf import config
from memories.principal import Principal

principal: ContextVar[Principal] = ContextVar("principal")


def writer() -> Principal:
    who = principal.get()
    who.check_write()
    return who


def scope(asked: str | None) -> str:
    from memories.places import label  # noqa: PLC0415 - its models need Django's set-up, which a greeting does not

    return principal.get().scope(label(asked, name="scope"), default=config().scope)


def scopes() -> Iterable[str]:
    """Every scope in reach; none named means all."""
    return principal.get().scopes
