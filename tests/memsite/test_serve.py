"""The service as users start it: a process of its own with a home of its own."""

import contextlib
import http.client
import json
import os
import pty
import re
import shutil
import signal
import socket
import sqlite3
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from memsite import discovery
from memsite.serve import CannotServe, address, listen

COMMAND = [sys.executable, "-c", "from memsite.cli import main; main()"]
MARKER = "MEMORY_MCP_LISTENING "


def until[T](found: Callable[[], T], seconds: float = 30) -> T:
    """Wait for a condition, not for a time."""
    deadline = time.monotonic() + seconds
    while not (result := found()):
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)
    return result


@dataclass
class Home:
    """A user with an empty home, and what they start."""

    path: Path

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
            timeout=60,
            check=False,
        )


@dataclass
class Running:
    process: subprocess.Popen[bytes]
    out: Path
    err: Path

    @property
    def line(self) -> dict[str, Any]:
        """What the service printed, once it did."""
        until(lambda: MARKER in self.out.read_text() or self.process.poll() is not None)
        text = self.out.read_text()
        assert text.startswith(MARKER), self.err.read_text()
        found: dict[str, Any] = json.loads(text.removeprefix(MARKER))
        return found

    def get(self, target: str, **headers: str) -> tuple[int, bytes]:
        parts = urlsplit(self.line["url"])
        with contextlib.closing(http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=10)) as client:
            client.request("GET", target, headers=headers)
            answer = client.getresponse()
            return answer.status, answer.read()

    def end(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(timeout=20)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a store that was started before: migrating takes a second."""
    home = Home(tmp_path_factory.mktemp("prepared"))
    assert home.run("token", "list").returncode == 0
    return home.data


@pytest.fixture
def settled(home: Home, prepared: Path) -> None:
    """This is not the first start."""
    shutil.copytree(prepared, home.data)


@pytest.fixture
def start(home: Home) -> Iterator[Callable[..., Running]]:
    started: list[Running] = []

    def begin(*arguments: str, **variables: str) -> Running:
        number = len(started)
        out, err = home.path / f"out{number}", home.path / f"err{number}"
        with out.open("wb") as stdout, err.open("wb") as stderr:
            process = subprocess.Popen(
                [*COMMAND, *arguments],
                env=home.environment(**variables),
                cwd=home.path,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
            )
        started.append(Running(process, out, err))
        return started[-1]

    yield begin
    for running in started:
        if running.process.poll() is None:
            running.end()


def one_line(result: subprocess.CompletedProcess[str], code: int = 1) -> str:
    assert result.returncode == code, result.stderr
    assert result.stdout == ""
    assert re.fullmatch(r"memory-mcp: .+\n", result.stderr), result.stderr
    return result.stderr


@pytest.mark.server
@pytest.mark.usefixtures("settled")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("arguments", [[], ["--workers", "2"]], ids=["alone", "workers"])
def test_a_service_announces_itself_and_leaves_without_a_trace(
    home: Home, start: Callable[..., Running], arguments: list[str], number: int
) -> None:
    running = start(*arguments)
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
def test_everything_the_service_makes_is_private(home: Home, start: Callable[..., Running]) -> None:
    running = start(MEMORY_TOKEN="s3cret", MEMORY_MAINTENANCE_ON_START="0")
    assert "s3cret" not in json.dumps(running.line)
    assert discovery.read(home.discovery) is not None
    assert json.loads(home.discovery.read_text())["token"] == "s3cret"
    assert stat.S_IMODE(home.data.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in home.data.iterdir()} == {0o600}
    assert running.get("/api/stats")[0] == 401
    assert running.get("/api/stats", Authorization="Bearer s3cret")[0] != 401
    running.end()
    assert "s3cret" not in running.err.read_text()


@pytest.mark.server
@pytest.mark.usefixtures("settled")
def test_the_admin_has_its_styles(start: Callable[..., Running]) -> None:
    running = start()
    status, page = running.get("/admin/login/")
    assert status == 200
    styles = re.findall(rb'href="(/static/[^"]+\.css)"', page)
    assert styles
    for style in styles:
        assert running.get(style.decode())[0] == 200
    running.end()
    assert "StreamingHttpResponse" not in running.err.read_text()


@pytest.mark.server
@pytest.mark.usefixtures("settled")
def test_an_idle_connection_does_not_delay_the_end(start: Callable[..., Running]) -> None:
    running = start()
    parts = urlsplit(running.line["url"])
    with contextlib.closing(http.client.HTTPConnection(parts.hostname or "", parts.port)) as client:
        client.request("GET", "/health")
        client.getresponse().read()
        began = time.monotonic()
        assert running.end() == 0
    assert time.monotonic() - began < 3


@pytest.mark.server
def test_five_first_starts_at_once_share_one_database(home: Home, start: Callable[..., Running]) -> None:
    several = [start() for _ in range(5)]
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
def test_a_killed_service_is_not_believed_and_the_next_one_takes_its_place(
    home: Home, start: Callable[..., Running]
) -> None:
    first = start()
    assert first.line
    first.end(signal.SIGKILL)
    assert home.discovery.exists()
    assert discovery.read(home.discovery) is None
    assert start().line["pid"] == json.loads(home.discovery.read_text())["pid"]


@pytest.mark.server
@pytest.mark.usefixtures("settled")
def test_a_port_taken_by_another_program_is_named(home: Home) -> None:
    with contextlib.closing(listen("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        line = one_line(home.run(MEMORY_PORT=str(port)))
    assert str(port) in line
    assert "--port" in line
    assert "another program" in line


@pytest.mark.server
@pytest.mark.usefixtures("settled")
@pytest.mark.parametrize("arguments", [[], ["--workers", "2"]], ids=["alone", "workers"])
def test_a_running_service_on_the_port_is_named(
    home: Home, start: Callable[..., Running], arguments: list[str]
) -> None:
    line = start().line
    refused = one_line(home.run(*arguments, "--port", str(line["port"])))
    assert line["url"] in refused
    assert re.search(r"\bpid \d+\b", refused)
    assert json.loads(home.discovery.read_text()) == line


@pytest.mark.server
@pytest.mark.usefixtures("settled")
@pytest.mark.parametrize(
    "host",
    [
        '127.0.0.1"; import os #',
        "no such host",
        "a..b",
        "x" * 300,
        "256.0.0.1",
        "http://127.0.0.1",
        "203.0.113.7",
    ],
)
@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_bad_host_is_one_line(home: Home, host: str, workers: str) -> None:
    assert "MEMORY_HOST=" in one_line(home.run("--host", host, "--workers", workers, MEMORY_TOKEN="t"))


@pytest.mark.server
@pytest.mark.usefixtures("settled")
@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_others_are_not_served_without_authentication(home: Home, start: Callable[..., Running], host: str) -> None:
    if ":" in host and not socket.has_dualstack_ipv6():
        pytest.skip("no IPv6 here")
    assert "memory-mcp token create" in one_line(home.run("--host", host))
    token = home.run("token", "create", "laptop").stdout.strip()
    running = start("--host", host)
    assert running.get("/api/stats")[0] == 401
    assert running.get("/api/stats", Authorization=f"Bearer {token}")[0] != 401
    assert "MEMORY_ALLOWED_HOSTS" in running.err.read_text()


@pytest.mark.server
@pytest.mark.parametrize(
    ("variable", "value"),
    [("MEMORY_PORT", "http"), ("MEMORY_PORT", "70000"), ("MEMORY_MAX_CONTENT_CHARS", "x")],
)
def test_a_bad_setting_is_one_line(home: Home, variable: str, value: str) -> None:
    line = one_line(home.run(**{variable: value}), code=2)
    assert variable in line
    assert value in line


@pytest.mark.server
@pytest.mark.parametrize("option", ["--workers=0", "--workers=x", "--port=-1", "--port=65536", "--nonsense"])
def test_a_bad_option_is_a_usage_error(home: Home, option: str) -> None:
    assert home.run(option).returncode == 2
    assert not home.data.exists()


def foreign(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.executescript("CREATE TABLE memories (id TEXT, content TEXT); INSERT INTO memories VALUES ('1', 'x')")


@pytest.mark.server
@pytest.mark.parametrize("command", [[], ["token", "list"], ["loginlink"]])
def test_a_database_of_another_program_is_left_alone(home: Home, command: list[str]) -> None:
    path = home.path / "other.db"
    foreign(path)
    before = path.read_bytes()
    assert f"memory-mcp import {path}" in one_line(home.run(*command, MEMORY_DB_PATH=str(path)))
    assert path.read_bytes() == before
    assert [found.name for found in home.path.glob("other.db*")] == ["other.db"]


@pytest.mark.server
@pytest.mark.parametrize("content", [b"hello, I am a letter", b"SQLite format 3\0 and then nonsense" * 100])
def test_a_file_that_is_no_database_is_left_alone(home: Home, content: bytes) -> None:
    path = home.path / "letter.db"
    path.write_bytes(content)
    assert str(path) in one_line(home.run(MEMORY_DB_PATH=str(path)))
    assert path.read_bytes() == content


@pytest.mark.server
def test_places_where_nothing_can_be_stored_are_one_line(home: Home) -> None:
    file = home.path / "file"
    file.touch()
    for path in (home.path, file / "memory.db", Path("/proc/memory-mcp/memory.db")):
        assert str(path.name) in one_line(home.run(MEMORY_DB_PATH=str(path)))


@pytest.mark.server
@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_and_an_unreadable_file_are_one_line(home: Home) -> None:
    folder = home.path / "folder"
    folder.mkdir(mode=0o500)
    assert "read-only" in one_line(home.run(MEMORY_DB_PATH=str(folder / "memory.db")))
    file = home.path / "memory.db"
    file.touch(mode=0o000)
    assert str(file) in one_line(home.run(MEMORY_DB_PATH=str(file)))


@pytest.mark.server
def test_an_ascii_terminal_is_no_obstacle(home: Home, start: Callable[..., Running]) -> None:
    path = home.path / "Gedächtnis 记忆" / "memory.db"
    running = start(MEMORY_DB_PATH=str(path), LC_ALL="C")
    assert running.line["pid"] == running.process.pid
    assert path.exists()
    assert "Gedächtnis" in one_line(home.run(MEMORY_DB_PATH=str(path.parent), LC_ALL="C"))


@pytest.mark.server
@pytest.mark.usefixtures("settled")
def test_an_unwritable_discovery_file_does_not_stop_the_service(start: Callable[..., Running]) -> None:
    running = start(MEMORY_DISCOVERY_FILE="/proc/nowhere/file.json")
    assert running.line
    assert running.end() == 0
    assert "/proc/nowhere/file.json" in running.err.read_text()


@pytest.mark.server
@pytest.mark.usefixtures("settled")
def test_the_discovery_file_can_be_switched_off(home: Home, start: Callable[..., Running]) -> None:
    assert start(MEMORY_DISCOVERY_FILE="off").line
    assert not home.discovery.exists()


@pytest.mark.server
def test_the_first_start_shows_a_login_link_on_a_terminal_only(home: Home) -> None:
    def shown() -> str:
        terminal, end = pty.openpty()
        out = home.path / "out"
        with out.open("wb") as stdout:
            process = subprocess.Popen(COMMAND, env=home.environment(), stdout=stdout, stderr=end)
        os.close(end)
        Running(process, out, out).line  # noqa: B018 - waits
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
        text = b""
        with contextlib.suppress(OSError):  # the end of a terminal
            while part := os.read(terminal, 4096):
                text += part
        os.close(terminal)
        return text.decode()

    assert re.search(r"http://127\.0\.0\.1:\d+/admin/link/\?sesame=\S+", shown())
    assert "sesame" not in shown()


@pytest.mark.server
@pytest.mark.usefixtures("settled")
def test_a_login_link_opens_the_admin_once(home: Home, start: Callable[..., Running]) -> None:
    running = start()
    url = running.line["url"]
    link = home.run("loginlink").stdout.strip()
    assert link.startswith(f"{url}/admin/link/?sesame=")
    target = link.removeprefix(url)
    assert running.get(target)[0] == 302
    assert running.get(target)[0] == 403
    running.end()
    assert "sesame=" not in running.err.read_text() + running.out.read_text()


@pytest.mark.server
@pytest.mark.usefixtures("settled")
def test_a_login_link_without_a_service_names_the_configured_address(home: Home) -> None:
    link = home.run("loginlink", MEMORY_PORT="8765").stdout
    assert link.startswith("http://127.0.0.1:8765/admin/link/?sesame=")
    assert "nobody" in one_line(home.run("loginlink", "nobody"))


@pytest.mark.server
@pytest.mark.usefixtures("settled")
def test_tokens_are_created_listed_and_revoked(home: Home) -> None:
    created = home.run("token", "create", "ci", "--scope", "a", "--scope", "b", "--read-only", "--maintain")
    token = created.stdout.strip()
    assert re.fullmatch(r"memsite_[\w-]{43}", token)
    listed = home.run("token", "list").stdout
    assert token not in listed
    assert listed == "ci\tread-only\tmaintain\tscopes: a, b\tnever used\n"
    assert home.run("token", "create", "ci").returncode == 1
    assert home.run("token", "create", " ").returncode == 1
    assert home.run("token", "revoke", "ci").returncode == 0
    assert "\trevoked\t" in home.run("token", "list").stdout
    assert "ci" in one_line(home.run("token", "revoke", "ci"))


@pytest.mark.server
@pytest.mark.usefixtures("settled")
def test_a_reader_that_leaves_is_no_error(home: Home) -> None:
    home.run("token", "create", "ci")
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as closed:
        result = subprocess.run(
            [*COMMAND, "token", "list"],
            env=home.environment(),
            stdout=closed,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert result.stderr == b""


def test_the_listening_socket_does_not_wait_to_fill_packets() -> None:
    with contextlib.closing(listen("127.0.0.1", 0)) as listener:
        assert listener.proto == socket.IPPROTO_TCP
        assert listener.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        url, port = address("localhost", listener)
        assert url == f"http://127.0.0.1:{port}"
        assert address("0.0.0.0", listener)[0] == url
        assert address("box.lan", listener)[0] == f"http://box.lan:{port}"


def test_a_port_of_others_needs_rights() -> None:
    with pytest.raises(CannotServe, match="--port"), contextlib.closing(listen("127.0.0.1", 0)) as taken:
        listen("127.0.0.1", taken.getsockname()[1])
