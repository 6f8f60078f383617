import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from memsite.discovery import Service, health, publish, read, retract


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "memory.db.server.json"


def service(token: str = "") -> Service:
    return Service.at("http://127.0.0.1:1", port=1, token=token)


def test_what_is_published_can_be_read_by_its_owner_only(path: Path) -> None:
    publish(path, service("s3cret"))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert read(path) == service("s3cret")
    assert json.loads(path.read_text()) == {
        "url": "http://127.0.0.1:1",
        "mcp_url": "http://127.0.0.1:1/mcp",
        "port": 1,
        "pid": os.getpid(),
        "token": "s3cret",
    }


def test_the_token_is_in_no_printed_form() -> None:
    assert "s3cret" not in service("s3cret").public() + repr(service("s3cret"))


def test_without_a_token_the_file_has_none(path: Path) -> None:
    publish(path, service())
    assert "token" not in json.loads(path.read_text())


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620])
def test_a_file_that_others_may_touch_is_not_believed(path: Path, mode: int) -> None:
    publish(path, service())
    path.chmod(mode)
    assert read(path) is None


def test_a_link_is_not_followed(path: Path) -> None:
    publish(path, service())
    link = path.with_name("link")
    link.symlink_to(path)
    assert read(link) is None


def test_a_file_of_someone_else_is_not_believed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(path, service())
    monkeypatch.setattr(os, "geteuid", lambda: 123456)
    assert read(path) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[]",
        "null",
        "\x00",
        '{"url": 1}',
        '{"url": "u", "mcp_url": "u", "port": "x", "pid": 1}',
        '{"url": "',
    ],
)
def test_nonsense_is_nothing(path: Path, text: str) -> None:
    publish(path, service())
    path.write_text(text)
    assert read(path) is None


@pytest.mark.parametrize("pid", [0, -1])
def test_a_pid_that_means_many_processes_is_nothing(path: Path, pid: int) -> None:
    publish(path, Service(url="u", mcp_url="u", port=1, pid=pid))
    assert read(path) is None


def test_a_missing_file_and_a_folder_are_nothing(tmp_path: Path) -> None:
    assert read(tmp_path / "missing") is None
    tmp_path.chmod(0o700)
    assert read(tmp_path) is None


def test_a_dead_process_is_nothing(path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    publish(path, Service(url="u", mcp_url="u", port=1, pid=ended.pid))
    assert read(path) is None


def test_only_the_own_file_is_retracted(path: Path) -> None:
    publish(path, Service(url="u", mcp_url="u", port=1, pid=os.getppid()))
    retract(path)
    assert path.exists()
    publish(path, service())
    retract(path)
    assert not path.exists()
    retract(path)


class Answering(BaseHTTPRequestHandler):
    answer = b""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(self.answer)

    def log_message(self, *args: object) -> None: ...


@pytest.fixture
def other_server() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Answering) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("answer", "ours"),
    [
        (b'{"status": "ok", "version": "1", "pid": 2}', True),
        (b"hello", False),
        (b"[]", False),
        (b"{}", False),
    ],
)
def test_health_knows_a_memory_service_from_others(
    other_server: str, monkeypatch: pytest.MonkeyPatch, answer: bytes, ours: bool
) -> None:
    monkeypatch.setattr(Answering, "answer", answer)
    assert (health(other_server) is not None) is ours


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "http://127.0.0.1:99999", "nonsense", "http://[::1"])
def test_health_of_nothing_is_nothing(url: str) -> None:
    assert health(url) is None
