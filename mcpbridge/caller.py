"""Who calls, and where from, as far as the arguments of a call do not say. Standard library only.

A stdio child knows both; to the service, which serves each request by itself, it sends them as headers.
"""

import os
from collections.abc import Iterable
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Self
from urllib.parse import quote_from_bytes, unquote_to_bytes

CWD, CLIENT = "X-Memory-Cwd", "X-Memory-Client"


@dataclass(frozen=True)
class Caller:
    """`cwd` is the working directory of the agent program, `client` its name; empty where unknown."""

    cwd: str = ""
    client: str = ""

    @classmethod
    def of(cls, headers: Iterable[tuple[bytes, bytes]]) -> Self:
        given = dict(headers)
        return cls(*(os.fsdecode(unquote_to_bytes(given.get(name.lower().encode(), b""))) for name in (CWD, CLIENT)))

    def headers(self) -> dict[str, str]:
        told = {CWD: self.cwd, CLIENT: self.client}
        return {name: quote_from_bytes(os.fsencode(value)) for name, value in told.items() if value}


UNKNOWN = Caller()
caller: ContextVar[Caller] = ContextVar("caller", default=UNKNOWN)


def here() -> str:
    """The working directory of this process; "" if it was removed."""
    try:
        return str(Path.cwd())
    except OSError:
        return ""
