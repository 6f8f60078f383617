"""The running service: is it up, is it ours, does it answer in time, is its token right."""

import contextlib
import http.client
import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from memsite import discovery
from memsite.doctor.finding import Finding, fail, ok, warn
from memsite.doctor.ports import holder
from memsite.env import Env
from memsite.guard import local_url
from memsite.version import VERSION

SECONDS = 2.0
START = "start it with `memory-mcp`, or at every login with `memory-mcp install service`"

type State = Literal["up", "down", "hung", "foreign"]


@dataclass(frozen=True)
class Probe:
    """What answers at `url`; `health` is what it says about itself."""

    url: str
    state: State
    seconds: float = 0
    health: dict[str, Any] = field(default_factory=dict)

    @property
    def port(self) -> int:
        return urlsplit(self.url).port or 80


def probe(env: Env) -> Probe:
    """Ask the service that the discovery file names, else the address of the settings."""
    running = discovery.read(env.discovery)
    url = running.url if running else local_url(env.host, env.port)
    began = time.monotonic()
    try:
        status, body = _get(url, "/health", "")
        health = json.loads(body)
    except TimeoutError:
        return Probe(url, "hung")
    except OSError:
        return Probe(url, "down")
    except (ValueError, http.client.HTTPException):
        return Probe(url, "foreign")
    if status != 200 or not discovery.is_health(health):
        return Probe(url, "foreign")
    return Probe(url, "up", time.monotonic() - began, health)


def findings(env: Env, found: Probe) -> Iterator[Finding]:
    yield from _published(env, found)
    if found.state == "down":
        yield fail(f"No service answers at {found.url}", START)
    elif found.state == "hung":
        cure = f"end {holder(found.port) or 'it'} and start it again"
        yield fail(f"What listens at {found.url} does not answer within {SECONDS:.0f} s", cure)
    elif found.state == "foreign":
        cure = "set MEMORY_PORT to a free port, start memory-mcp and install again"
        yield fail(f"Port {found.port} is held by another program ({holder(found.port) or 'unknown'})", cure)
    else:
        yield from _health(found)
        yield from _token(env, found)


def _health(found: Probe) -> Iterator[Finding]:
    said = found.health
    pid, version = said["pid"], said["version"]
    yield ok(f"The service answers at {found.url} in {found.seconds * 1000:.0f} ms (pid {pid}, version {version})")
    if version != VERSION:
        yield warn(f"The service is version {version}, installed is {VERSION}", "restart it")
    if said.get("database") not in (None, "ok"):
        yield fail(f"The service says that its database is {said['database']}", "look at its log, then restart it")
    embedder = said.get("embedder") or {}
    if embedder.get("state") == "failed":
        yield fail(f"The embedding model {embedder.get('name')} failed to load in the service", "look at its log")


def _published(env: Env, found: Probe) -> Iterator[Finding]:
    path = env.discovery
    if path is None:
        yield warn("MEMORY_DISCOVERY_FILE=off", "set MEMORY_PLUGIN_URL where agents run, or publish the address")
        return
    running = discovery.read(path)
    if running is not None:
        if found.state == "up" and found.health["pid"] != running.pid:
            yield warn(f"{path} names pid {running.pid}, pid {found.health['pid']} answers", "restart the service")
        else:
            yield ok(f"The address is published in {path}")
    elif not path.exists():
        if found.state == "up":
            yield warn(f"{path} is missing, so clients try {found.url} without a token", "restart the service")
    elif not _is_private(path):
        yield fail(
            f"{path} is readable by others or not yours, so clients ignore it", f"rm {path}; restart the service"
        )
    else:
        yield warn(f"{path} is left from a service that was killed", "the next start replaces it")


def _token(env: Env, found: Probe) -> Iterator[Finding]:
    running = discovery.read(env.discovery)
    token = os.environ.get("MEMORY_PLUGIN_TOKEN") or env.token or (running.token if running else "")
    try:
        with_it, _ = _get(found.url, "/api/stats", token)
        without, _ = _get(found.url, "/api/stats", "")
    except (OSError, http.client.HTTPException):
        yield fail("The service answers /health but not /api/stats", "look at its log, then restart it")
        return
    if without == 200:
        yield ok("Authentication is off: every program of this machine may ask (set MEMORY_TOKEN to change that)")
    elif with_it == 200:
        yield ok("Authentication is on and the token that clients use is right")
    else:
        kind = "is not accepted" if token else "is missing"
        yield fail(f"Authentication is on and the token of this shell {kind}", "set MEMORY_TOKEN as the service has it")


def _get(url: str, path: str, token: str) -> tuple[int, bytes]:
    """Raises OSError (TimeoutError if it hangs) or HTTPException."""
    parts = urlsplit(url)
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=SECONDS)
    with contextlib.closing(connection):
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read(discovery.LARGEST)


def _is_private(path: Path) -> bool:
    try:
        status = path.lstat()
    except OSError:
        return False
    return status.st_uid == os.geteuid() and not status.st_mode & 0o077
