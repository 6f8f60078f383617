"""The real service as users start it: a process of its own, with an empty home and a database of its own."""

import contextlib
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

COMMAND = [sys.executable, "-c", "from memsite.cli import main; main()"]
MARKER = "MEMORY_MCP_LISTENING "


def until[T](found: Callable[[], T], seconds: float = 60) -> T:
    """Wait for a condition, not for a time."""
    deadline = time.monotonic() + seconds
    while not (result := found()):
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)
    return result


@dataclass
class Service:
    """A started process, with what it prints and how it answers."""

    process: subprocess.Popen[bytes]
    out: Path
    err: Path
    token: str = ""

    @cached_property
    def line(self) -> dict[str, Any]:
        """What the service printed, once it did."""
        until(lambda: MARKER in self.out.read_text() or self.process.poll() is not None)
        text = self.out.read_text()
        assert text.startswith(MARKER), self.log
        found: dict[str, Any] = json.loads(text.removeprefix(MARKER))
        return found

    @property
    def url(self) -> str:
        return str(self.line["url"])

    @property
    def port(self) -> int:
        return int(self.line["port"])

    @property
    def log(self) -> str:
        return self.err.read_text()

    def get(self, target: str, **headers: str) -> tuple[int, bytes]:
        return self.send("GET", target, None, headers, seconds=10)

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        if body is not None:
            headers["Content-Type"] = "application/json"
        status, text = self.send(method, path, None if body is None else json.dumps(body).encode(), headers)
        return status, json.loads(text) if text else None

    def post(self, path: str, **body: Any) -> dict[str, Any]:
        """What is answered to a request that must succeed."""
        status, answer = self.ask("POST", path, body)
        assert status < 300, answer
        found: dict[str, Any] = answer
        return found

    def keep(self, content: str, **fields: Any) -> int:
        return self.ask("POST", "/ingest", {"content": content, **fields})[0]

    def found(self, query: str) -> list[str]:
        status, answer = self.ask("POST", "/recall", {"query": query, "mode": "search"})
        assert status == 200, answer
        return [hit["content"] for hit in answer["memories"]]

    def end(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(timeout=60)

    def send(
        self, method: str, target: str, content: bytes | None, headers: dict[str, str], *, seconds: float = 60
    ) -> tuple[int, bytes]:
        parts = urlsplit(self.url)
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=seconds)
        with contextlib.closing(connection) as client:
            client.request(method, target, content, headers)
            answer = client.getresponse()
            return answer.status, answer.read()


@dataclass
class Home:
    """A user with an empty home, and what they start."""

    path: Path
    started: list[Service] = field(default_factory=list)

    @property
    def data(self) -> Path:
        return self.path / ".local/share/memory-mcp"

    @property
    def database(self) -> Path:
        return self.data / "memory.db"

    @property
    def discovery(self) -> Path:
        return self.data / "memory.db.server.json"

    def environment(self, **variables: str) -> dict[str, str]:
        foreign = ("MEMORY_", "XDG_", "DJANGO_", "DATABASE_URL", "LC_", "LANG")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
        return kept | {"HOME": str(self.path), "MEMORY_PORT": "0"} | variables

    def run(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*COMMAND, *arguments],
            env=self.environment(**variables),
            cwd=self.path,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=120,
            check=False,
        )

    def start(self, *arguments: str, **variables: str) -> Service:
        """Start without waiting: the first use of what the service printed waits."""
        number = len(self.started)
        out, err = self.path / f"out{number}", self.path / f"err{number}"
        with out.open("wb") as stdout, err.open("wb") as stderr:
            process = subprocess.Popen(
                [*COMMAND, *arguments],
                env=self.environment(**variables),
                cwd=self.path,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
            )
        self.started.append(Service(process, out, err, variables.get("MEMORY_TOKEN", "")))
        return self.started[-1]

    def end(self) -> None:
        """Stop what still runs."""
        for service in self.started:
            if service.process.poll() is None:
                service.end()


def one_line(result: subprocess.CompletedProcess[str], code: int = 1) -> str:
    assert result.returncode == code, result.stderr
    assert result.stdout == ""
    assert re.fullmatch(r"memory-mcp: .+\n", result.stderr), result.stderr
    return result.stderr
