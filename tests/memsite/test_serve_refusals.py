"""What the service does not start with, said in one line."""

import contextlib
import json
import os
import re
import socket
import sqlite3
from pathlib import Path

import pytest

from memsite.serve import CannotServe, listen
from tests.service import Home, one_line


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
def test_a_running_service_on_the_port_is_named(home: Home, arguments: list[str]) -> None:
    line = home.start().line
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
def test_others_are_not_served_without_authentication(home: Home, host: str) -> None:
    if ":" in host and not socket.has_dualstack_ipv6():
        pytest.skip("no IPv6 here")
    assert "memory-mcp token create" in one_line(home.run("--host", host))
    token = home.run("token", "create", "laptop").stdout.strip()
    running = home.start("--host", host)
    assert running.get("/api/stats")[0] == 401
    assert running.get("/api/stats", Authorization=f"Bearer {token}")[0] != 401
    assert "MEMORY_ALLOWED_HOSTS" in running.log


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


def test_a_port_of_others_needs_rights() -> None:
    with pytest.raises(CannotServe, match="--port"), contextlib.closing(listen("127.0.0.1", 0)) as taken:
        listen("127.0.0.1", taken.getsockname()[1])
