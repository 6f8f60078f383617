"""What doctor says of the running service, its port and its token."""

import contextlib
import json
import os
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from memsite.doctor import ports, serving
from memsite.doctor.ports import holder
from memsite.version import VERSION
from tests.memsite.doctor.installed import line
from tests.memsite.user import User

pytestmark = pytest.mark.usefixtures("at_a_free_port")

type Configure = Callable[..., None]
HEALTH = {"status": "ok", "version": VERSION, "pid": os.getpid(), "database": "ok", "embedder": {"state": "off"}}


@contextlib.contextmanager
def answering(status: int, body: bytes, *, needs: str = "") -> Iterator[int]:
    """A service that says this at /health; with `needs` it wants that token elsewhere."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            wrong = needs and self.path != "/health" and self.headers["Authorization"] != f"Bearer {needs}"
            self.send_response(401 if wrong else status)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as it is declared
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


def test_a_service_that_is_down_fails_with_its_cure(user: User) -> None:
    said = line(user.fails("doctor"), "No service answers")
    assert said.startswith("fail")
    assert "memory-mcp install service" in said


def test_what_listens_without_answering_is_named(
    user: User, configure: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "SECONDS", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as hung:
        port = hung.getsockname()[1]
        configure(port=port)
        said = line(user.fails("doctor"), "does not answer within")
        assert said.startswith("fail")
        if sys.platform == "linux":
            assert f"pid {os.getpid()}" in said
            assert holder(port).startswith(f"pid {os.getpid()}, ")


@pytest.mark.parametrize("body", [b"<html>hello", b'{"status": "ok"}', b"[]"])
def test_another_program_at_the_port_is_named(user: User, configure: Configure, body: bytes) -> None:
    with answering(200, body) as port:
        configure(port=port)
        said = line(user.fails("doctor"), "is held by another program")
        assert said.startswith("fail")
        assert "MEMORY_PORT" in said


def test_a_service_that_is_up_is_fine(user: User, configure: Configure) -> None:
    with answering(200, json.dumps(HEALTH).encode()) as port:
        configure(port=port)
        said = user.run("doctor")
        assert line(said, "The service answers").startswith("ok")
        assert line(said, "Authentication is off").startswith("ok")
        assert "fail" not in said


def test_what_the_service_says_about_itself_is_heard(user: User, configure: Configure) -> None:
    ill = {**HEALTH, "version": "0.0.1", "database": "failed", "embedder": {"state": "failed", "name": "minilm"}}
    with answering(200, json.dumps(ill).encode()) as port:
        configure(port=port)
        said = user.fails("doctor")
    assert line(said, "version 0.0.1, installed").startswith("warn")
    assert line(said, "its database is failed").startswith("fail")
    assert line(said, "minilm failed").startswith("fail")


def test_the_token_of_the_shell_is_tried(user: User, configure: Configure, monkeypatch: pytest.MonkeyPatch) -> None:
    with answering(200, json.dumps(HEALTH).encode(), needs="right") as port:
        configure(port=port, token="")
        assert line(user.fails("doctor"), "token of this shell is missing").startswith("fail")
        monkeypatch.setenv("MEMORY_PLUGIN_TOKEN", "wrong")
        assert line(user.fails("doctor"), "token of this shell is not accepted").startswith("fail")
        monkeypatch.setenv("MEMORY_PLUGIN_TOKEN", "right")
        assert line(user.run("doctor"), "the token that clients use is right").startswith("ok")


def test_the_file_that_publishes_the_address_is_looked_at(user: User, configure: Configure, free_port: int) -> None:
    path = user.home / ".local/share/memory-mcp/memory.db.server.json"
    url = f"http://127.0.0.1:{free_port}"
    named = {"url": url, "mcp_url": f"{url}/mcp", "port": free_port, "pid": os.getpid()}
    user.write(str(path), json.dumps(named)).chmod(0o644)
    assert line(user.fails("doctor"), "readable by others").startswith("fail")
    path.chmod(0o600)
    assert line(user.fails("doctor"), "is published").startswith("ok")
    path.write_text(json.dumps({**named, "pid": 2**22 + 1}))
    assert line(user.fails("doctor"), "was killed").startswith("warn")
    with answering(200, json.dumps({**HEALTH, "pid": 1}).encode()) as port:
        path.write_text(json.dumps({**named, "url": f"http://127.0.0.1:{port}"}))
        assert line(user.run("doctor"), "pid 1 answers").startswith("warn")
        path.unlink()
        configure(port=port)
        assert line(user.run("doctor"), "is missing").startswith("warn")
    configure(discovery_file="off")
    assert line(user.fails("doctor"), "MEMORY_DISCOVERY_FILE").startswith("warn")


def test_a_service_that_is_up_and_then_fails_is_not_fine(
    user: User, configure: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = serving._get

    def half(url: str, path: str, token: str) -> tuple[int, bytes]:
        if path != "/health":
            raise ConnectionResetError
        return asked(url, path, token)

    monkeypatch.setattr(serving, "_get", half)
    with answering(200, json.dumps(HEALTH).encode()) as port:
        configure(port=port)
        assert line(user.fails("doctor"), "not /api/stats").startswith("fail")


def test_where_there_is_no_proc_lsof_is_asked(user: User, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(ports, "PROC", tmp_path / "no-proc")
    assert holder(1) == ""
    user.has("lsof", "exit 1")
    assert holder(1) == ""
    user.has("lsof", "echo 4711")
    assert holder(1) == "pid 4711"
