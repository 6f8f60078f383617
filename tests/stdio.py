"""`memory-mcp --stdio` as an agent program starts it and speaks with it."""

import contextlib
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.service import COMMAND, Home

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test-agent", "version": "1"},
    },
}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def call(identifier: int, tool: str, **arguments: Any) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": identifier, "method": "tools/call", "params": params}


class Child:
    """A stdio server as an agent program starts it."""

    def __init__(self, home: Home, *, cwd: Path | None = None, **variables: str) -> None:
        self.process = subprocess.Popen(
            [*COMMAND, "--stdio"],
            env=home.environment(**variables),
            cwd=cwd or home.path,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def send(self, *messages: Any) -> None:
        assert self.process.stdin
        for message in messages:
            line = message if isinstance(message, bytes) else json.dumps(message).encode()
            self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def read(self) -> dict[str, Any]:
        assert self.process.stdout
        line = self.process.stdout.readline()
        assert line, self.process.stderr and self.process.stderr.read().decode()
        found: dict[str, Any] = json.loads(line)
        return found

    def ask(self, message: dict[str, Any]) -> dict[str, Any]:
        self.send(message)
        answer = self.read()
        assert answer["id"] == message["id"], answer
        return answer

    def begin(self) -> None:
        assert self.ask(INITIALIZE)["result"]["serverInfo"]["name"] == "memsite"
        self.send(INITIALIZED)

    def close(self) -> tuple[bytes, bytes]:
        return self.process.communicate(timeout=60)


@contextlib.contextmanager
def child(home: Home, *, cwd: Path | None = None, **variables: str) -> Iterator[Child]:
    one = Child(home, cwd=cwd, **variables)
    try:
        yield one
    finally:
        one.process.kill()
        one.process.communicate()
