"""The real service on a store of its own, with what it wrote to its log."""

import contextlib
import http.client
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

COMMAND = [sys.executable, "-c", "from memsite.cli import main; main()"]


def environment(home: Path, **variables: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MEMORY_", "DJANGO_"))}
    return kept | {"HOME": str(home), "XDG_CONFIG_HOME": str(home), "MEMORY_PORT": "0"} | variables


def command(home: Path, *arguments: str) -> None:
    subprocess.run([*COMMAND, *arguments], env=environment(home), cwd=home, check=True, timeout=60, capture_output=True)


@dataclass
class Service:
    home: Path
    process: subprocess.Popen[bytes]
    port: int
    token: str = ""

    @property
    def database(self) -> Path:
        return database_of(self.home)

    @property
    def log(self) -> str:
        return (self.home / "log").read_text()

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        content = None if body is None else json.dumps(body).encode()
        if content is not None:
            headers["Content-Type"] = "application/json"
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)) as connection:
            connection.request(method, path, content, headers)
            answer = connection.getresponse()
            text = answer.read()
            return answer.status, json.loads(text) if text else None

    def keep(self, content: str, **fields: Any) -> int:
        return self.ask("POST", "/ingest", {"content": content, **fields})[0]

    def found(self, query: str) -> list[str]:
        status, answer = self.ask("POST", "/recall", {"query": query, "mode": "search"})
        assert status == 200, answer
        return [hit["content"] for hit in answer["memories"]]


def database_of(home: Path) -> Path:
    return home / ".local/share/memory-mcp/memory.db"


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that was started before: migrating takes a second."""
    home = tmp_path_factory.mktemp("prepared")
    command(home, "token", "list")
    return database_of(home).parent


@pytest.fixture
def serve(tmp_path: Path, prepared: Path) -> Iterator[Callable[..., Service]]:
    with contextlib.ExitStack() as ending:

        def start(**variables: str) -> Service:
            if not database_of(tmp_path).exists():
                shutil.copytree(prepared, database_of(tmp_path).parent)
            log = ending.enter_context((tmp_path / "log").open("ab"))
            process = ending.enter_context(
                subprocess.Popen(
                    COMMAND, env=environment(tmp_path, **variables), cwd=tmp_path, stdout=subprocess.PIPE, stderr=log
                )
            )
            ending.callback(process.terminate)
            assert process.stdout
            line = process.stdout.readline()
            assert line, (tmp_path / "log").read_text()
            port = json.loads(line.split(b" ", 1)[1])["port"]
            return Service(tmp_path, process, port, variables.get("MEMORY_TOKEN", ""))

        yield start
