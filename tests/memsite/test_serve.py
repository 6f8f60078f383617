"""The service as users start it: a process of its own with a home of its own."""

import contextlib
import http.client
import json
import re
import signal
import socket
import sqlite3
import stat
import time
from urllib.parse import urlsplit

import pytest

from memsite import discovery
from memsite.serve import address, listen
from tests.service import MARKER, Home, one_line


@pytest.mark.server
@pytest.mark.usefixtures("settled")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("arguments", [[], ["--workers", "2"]], ids=["alone", "workers"])
def test_a_service_announces_itself_and_leaves_without_a_trace(home: Home, arguments: list[str], number: int) -> None:
    running = home.start(*arguments)
    line = running.line
    assert line.keys() == {"url", "mcp_url", "port", "pid"}
    assert line["url"] == f"http://127.0.0.1:{line['port']}"
    assert line["mcp_url"] == line["url"] + "/mcp"
    assert line["pid"] == running.process.pid
    assert json.loads(home.discovery.read_text()) == line
    assert running.get("/health")[0] == 200
    assert running.end(number) == 0
    assert not home.discovery.exists()
    assert MARKER not in running.out.read_text().removeprefix(MARKER)


@pytest.mark.server
def test_everything_the_service_makes_is_private(home: Home) -> None:
    running = home.start(MEMORY_TOKEN="s3cret", MEMORY_MAINTENANCE_ON_START="0")
    assert "s3cret" not in json.dumps(running.line)
    assert discovery.read(home.discovery) is not None
    assert json.loads(home.discovery.read_text())["token"] == "s3cret"
    assert stat.S_IMODE(home.data.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in home.data.iterdir()} == {0o600}
    assert running.get("/api/stats")[0] == 401
    assert running.get("/api/stats", Authorization="Bearer s3cret")[0] != 401
    running.end()
    assert "s3cret" not in running.log


@pytest.mark.server
@pytest.mark.usefixtures("settled")
def test_the_admin_has_its_styles(home: Home) -> None:
    running = home.start()
    status, page = running.get("/admin/login/")
    assert status == 200
    styles = re.findall(rb'href="(/static/[^"]+\.css)"', page)
    assert styles
    for style in styles:
        assert running.get(style.decode())[0] == 200
    running.end()
    assert "StreamingHttpResponse" not in running.log


@pytest.mark.server
@pytest.mark.usefixtures("settled")
def test_an_idle_connection_does_not_delay_the_end(home: Home) -> None:
    running = home.start()
    parts = urlsplit(running.line["url"])
    with contextlib.closing(http.client.HTTPConnection(parts.hostname or "", parts.port)) as client:
        client.request("GET", "/health")
        client.getresponse().read()
        began = time.monotonic()
        assert running.end() == 0
    assert time.monotonic() - began < 8


@pytest.mark.server
def test_five_first_starts_at_once_share_one_database(home: Home) -> None:
    several = [home.start() for _ in range(5)]
    assert len({running.line["port"] for running in several}) == 5
    with contextlib.closing(sqlite3.connect(home.database)) as database:
        assert database.execute("SELECT username, is_superuser FROM auth_user").fetchall() == [("owner", 1)]
    newest = json.loads(home.discovery.read_text())["pid"]
    for running in sorted(several, key=lambda each: each.process.pid == newest):
        assert home.discovery.exists()  # only its own process takes it back
        assert running.end() == 0
    assert not home.discovery.exists()


@pytest.mark.server
@pytest.mark.usefixtures("settled")
def test_a_killed_service_is_not_believed_and_the_next_one_takes_its_place(home: Home) -> None:
    first = home.start()
    assert first.line
    first.end(signal.SIGKILL)
    assert home.discovery.exists()
    assert discovery.read(home.discovery) is None
    assert home.start().line["pid"] == json.loads(home.discovery.read_text())["pid"]


@pytest.mark.server
def test_an_ascii_terminal_is_no_obstacle(home: Home) -> None:
    path = home.path / "Gedächtnis 记忆" / "memory.db"
    running = home.start(MEMORY_DB_PATH=str(path), LC_ALL="C")
    assert running.line["pid"] == running.process.pid
    assert path.exists()
    assert "Gedächtnis" in one_line(home.run(MEMORY_DB_PATH=str(path.parent), LC_ALL="C"))


@pytest.mark.server
@pytest.mark.usefixtures("settled")
def test_an_unwritable_discovery_file_does_not_stop_the_service(home: Home) -> None:
    running = home.start(MEMORY_DISCOVERY_FILE="/proc/nowhere/file.json")
    assert running.line
    assert running.end() == 0
    assert "/proc/nowhere/file.json" in running.log


@pytest.mark.server
@pytest.mark.usefixtures("settled")
def test_the_discovery_file_can_be_switched_off(home: Home) -> None:
    assert home.start(MEMORY_DISCOVERY_FILE="off").line
    assert not home.discovery.exists()


def test_the_listening_socket_does_not_wait_to_fill_packets() -> None:
    with contextlib.closing(listen("127.0.0.1", 0)) as listener:
        assert listener.proto == socket.IPPROTO_TCP
        assert listener.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        url, port = address("localhost", listener)
        assert url == f"http://127.0.0.1:{port}"
        assert address("0.0.0.0", listener)[0] == url
        assert address("box.lan", listener)[0] == f"http://box.lan:{port}"
