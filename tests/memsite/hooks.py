"""hook.py as agent programs run it, and services that lie to it."""

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, field
from typing import Any

from memsite import hook
from tests.service import Home

COMMAND = [sys.executable, "-I", "-S", hook.__file__]
BUDGET = 1.5
LATE = BUDGET + 1.0
"""Seconds, with some for a busy machine."""
FACT = "The deploy key rotates on Tuesdays."
PROMPT = {"session_id": "s1", "cwd": "/w/acme/shop", "prompt": "when does the deploy key rotate?"}
ORDER = {**PROMPT, "prompt": "Remember that the staging database is called blueberry."}


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str
    seconds: float

    @property
    def is_silent(self) -> bool:
        return (self.code, self.out, self.err) == (0, "", "") and self.seconds < LATE

    @property
    def block(self) -> str:
        assert self.code == 0
        text: str = json.loads(self.out)["hookSpecificOutput"]["additionalContext"]
        return text


def run(home: Home, event: str, raw: object, *options: str, harness: str = "claude", **variables: str) -> Ran:
    began = time.monotonic()
    done = subprocess.run(
        [*COMMAND, harness, event, *options],
        input=raw if isinstance(raw, bytes) else json.dumps(raw).encode(),
        env=home.environment(**variables),
        cwd=home.path,
        capture_output=True,
        timeout=30,
        check=False,
    )
    return Ran(done.returncode, done.stdout.decode("ascii"), done.stderr.decode(), time.monotonic() - began)


def spooled(home: Home) -> list[dict[str, Any]]:
    path = home.data / "memory.db.spool.jsonl"
    if not path.exists():
        return []
    assert path.stat().st_mode & 0o777 == 0o600
    whole = path.read_bytes().rpartition(b"\n")[0]  # a child may be at the next line
    return [json.loads(line) for line in whole.splitlines()]


def publish(home: Home, url: str, **fields: object) -> None:
    service = {"url": url, "mcp_url": url + "/mcp", "port": 1, "pid": os.getpid(), **fields}
    home.data.mkdir(parents=True, exist_ok=True)
    home.discovery.touch(0o600)
    home.discovery.write_text(json.dumps(service))


@dataclass
class Liar:
    """Answers every connection with the same bytes, or never."""

    reply: bytes | None
    listener: socket.socket = field(default_factory=lambda: socket.create_server(("127.0.0.1", 0)))
    heard: list[bytes] = field(default_factory=list)
    held: list[socket.socket] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.listener.getsockname()[1]}"

    def work(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.listener.accept()
                self.held.append(connection)
                if self.reply is not None:
                    self.heard.append(connection.recv(1_000_000))
                    connection.sendall(self.reply)
                    connection.shutdown(socket.SHUT_WR)

    def end(self) -> None:
        self.listener.shutdown(socket.SHUT_RDWR)
        for one in (self.listener, *self.held):
            one.close()


def ok(body: object) -> bytes:
    return b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n" + json.dumps(body).encode()
