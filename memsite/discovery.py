"""Where the running service is: a private file that it publishes and its clients read."""

import contextlib
import dataclasses
import http.client
import json
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeGuard
from urllib.parse import urlsplit

from memsite.files import write_private

LARGEST = 64 * 1024


@dataclass(frozen=True)
class Service:
    """A running service. `token` is the owner's, for clients of the same user."""

    url: str
    mcp_url: str
    port: int
    pid: int
    token: str = dataclasses.field(default="", repr=False)

    @classmethod
    def at(cls, url: str, *, port: int, token: str = "") -> Self:
        """This process, answering at `url`."""
        return cls(url=url, mcp_url=f"{url}/mcp", port=port, pid=os.getpid(), token=token)

    def public(self) -> str:
        """As JSON without the token: what may be printed."""
        return json.dumps({name: value for name, value in dataclasses.asdict(self).items() if name != "token"})

    def private(self) -> str:
        return json.dumps({name: value for name, value in dataclasses.asdict(self).items() if value})


def publish(path: Path, service: Service) -> None:
    """Replace the file atomically; nobody but its owner may read it."""
    write_private(path, service.private() + "\n")


def retract(path: Path) -> None:
    """Remove the file if it speaks of this process."""
    found = read(path)
    if found is not None and found.pid == os.getpid():
        path.unlink(missing_ok=True)


def read(path: Path | None) -> Service | None:
    """The service that a file names, if the file is private to this user and the process lives."""
    content = _private_text(path) if path else None
    if content is None:
        return None
    try:
        found = json.loads(content)
        service = Service(
            url=str(found["url"]),
            mcp_url=str(found["mcp_url"]),
            port=int(found["port"]),
            pid=int(found["pid"]),
            token=str(found.get("token", "")),
        )
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
    return service if service.pid > 0 and _is_alive(service.pid) else None


def health(url: str, *, seconds: float = 0.5) -> dict[str, Any] | None:
    """What /health at `url` says; None unless a memory service answers in time."""
    try:
        parts = urlsplit(url)
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=seconds)
        with contextlib.closing(connection):
            connection.request("GET", "/health")
            answer = json.loads(connection.getresponse().read(LARGEST))
    except (OSError, ValueError, http.client.HTTPException):
        return None
    return answer if is_health(answer) else None


def is_health(answer: object) -> TypeGuard[dict[str, Any]]:
    """Whether this is what a memory service says at /health."""
    return isinstance(answer, dict) and {"status", "version", "pid"} <= answer.keys()


def _private_text(path: Path) -> str | None:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        status = os.fstat(handle)
        private = status.st_uid == os.geteuid() and not status.st_mode & 0o077
        if not (private and stat.S_ISREG(status.st_mode)):
            return None
        return os.read(handle, LARGEST).decode("utf-8", "replace")
    finally:
        os.close(handle)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True
