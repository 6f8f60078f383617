"""The real service as a process on a database of its own, a small JSON client, and what it weighs."""

import contextlib
import http.client
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self
from urllib.parse import urlsplit

COMMAND: Sequence[str] = (str(Path(sys.executable).with_name("memory-mcp")),)
GREETING = "MEMORY_MCP_LISTENING "
START_SECONDS = 120.0
STOP_SECONDS = 30.0
IDLE_SECONDS = 2.0
"""uvicorn closes a connection that idled for 5 s; one that idled for longer than this is opened anew."""


class ServiceFailedError(Exception):
    """The service did not start, did not stop as it should, or answered with a problem."""


class Client:
    """JSON over one kept connection (http.client sets TCP_NODELAY itself). For one thread."""

    def __init__(self, url: str, *, timeout: float = 120.0) -> None:
        address = urlsplit(url)
        self._connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=timeout)
        self._used = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self._connection.close()

    def post(self, path: str, body: Mapping[str, object]) -> dict[str, Any]:
        return self._ask("POST", path, json.dumps(body).encode(), {"Content-Type": "application/json"})

    def get(self, path: str) -> dict[str, Any]:
        return self._ask("GET", path, None, {})

    def _ask(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> dict[str, Any]:
        if time.monotonic() - self._used > IDLE_SECONDS:
            self._connection.close()
        self._connection.request(method, path, body, headers)
        response = self._connection.getresponse()
        text = response.read()
        self._used = time.monotonic()
        if response.status >= 400:
            raise ServiceFailedError(f"{method} {path}: {response.status} {text.decode(errors='replace')[:2000]}")
        answer: dict[str, Any] = json.loads(text)
        return answer


@dataclass(frozen=True)
class Service:
    url: str
    pid: int
    database: Path

    def client(self) -> Client:
        return Client(self.url)


@contextlib.contextmanager
def temporary_database() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="memory-bench-") as folder:
        yield Path(folder) / "memory.db"


@contextlib.contextmanager
def running(database: Path, *, settings: Mapping[str, str] | None = None) -> Iterator[Service]:
    """Start the service on `database`, yield it once it serves, and stop it by SIGTERM.

    Nothing of the user's reaches it: HOME is empty and MEMORY_* variables come from `settings` alone.
    """
    with tempfile.TemporaryDirectory(prefix="memory-bench-home-") as home:
        log = Path(home) / "stderr.log"
        with log.open("wb") as stderr:
            process = subprocess.Popen(
                COMMAND,
                env=environment(database, home=Path(home), settings=settings),
                stdout=subprocess.PIPE,
                stderr=stderr,
                cwd=home,
                text=True,
            )
        try:
            address = _address(process, log)
            yield Service(url=address["url"].rstrip("/"), pid=int(address["pid"]), database=database)
        except BaseException:
            _end(process)
            raise
        code = _end(process)
        if code != 0:
            raise ServiceFailedError(f"SIGTERM ended the service with code {code}.\n{_tail(log)}")


def environment(database: Path, *, home: Path, settings: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of a process of the product that sees `database` and nothing of the user's."""
    ours = ("MEMORY_", "MEMSITE_", "DJANGO_", "DATABASE_URL")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    folders = {
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / "config"),
        "XDG_DATA_HOME": str(home / "data"),
        "XDG_STATE_HOME": str(home / "state"),
        "XDG_CACHE_HOME": str(home / "cache"),
    }
    return {**kept, **folders, "MEMORY_DB_PATH": str(database), "MEMORY_PORT": "0", **(settings or {})}


def parse_settings(pairs: Sequence[str]) -> dict[str, str]:
    """`["MEMORY_FUSION=rrf"]` as a mapping."""
    return {name: value for name, _, value in (pair.partition("=") for pair in pairs)}


def _address(process: "subprocess.Popen[str]", log: Path) -> dict[str, Any]:
    lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
    assert process.stdout is not None
    threading.Thread(target=_drain, args=(process.stdout, lines), daemon=True).start()
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            line = lines.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            raise ServiceFailedError(f"No address after {START_SECONDS:.0f} s.\n{_tail(log)}") from None
        if line is None:
            raise ServiceFailedError(f"The service ended before it served.\n{_tail(log)}")
        if line.startswith(GREETING):
            address: dict[str, Any] = json.loads(line.removeprefix(GREETING))
            return address


def _drain(stream: IO[str], lines: "queue.SimpleQueue[str | None]") -> None:
    with stream:
        for line in stream:
            lines.put(line)
    lines.put(None)


def _end(process: "subprocess.Popen[str]") -> int:
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
    try:
        return process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def _tail(log: Path) -> str:
    return log.read_text(encoding="utf-8", errors="replace")[-3000:]


def rss_mb(pid: int) -> float:
    """Resident memory of a process and all its descendants, in MB of 2**20 bytes."""
    return sum(_resident_kb(each) for each in _family(pid)) / 1024


def _family(pid: int) -> Iterator[int]:
    yield pid
    for listing in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):  # it may end while we look
            for child in listing.read_text().split():
                yield from _family(int(child))


def _resident_kb(pid: int) -> int:
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
    return 0
