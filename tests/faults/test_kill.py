"""What was acknowledged survives a killed service and a second one beside it."""

import contextlib
import http.client
import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.faults.conftest import COMMAND, environment

pytestmark = pytest.mark.server
CLIENT = """
import http.client, json, sys
port, number = int(sys.argv[1]), sys.argv[2]
connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
for turn in range(200):
    text = f"client{number} turn{turn} wrote marker{number}x{turn}y"
    try:
        connection.request("POST", "/ingest", json.dumps({"content": text}), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        if answer.status == 201:
            print(json.loads(answer.read())["uid"], f"marker{number}x{turn}y", flush=True)
    except (OSError, http.client.HTTPException):
        break
"""


@contextlib.contextmanager
def serving(home: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    with subprocess.Popen(COMMAND, env=environment(home), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        line = process.stdout.readline()
        try:
            yield process, json.loads(line.split(" ", 1)[1])["port"]
        finally:
            process.terminate()


def ask(port: int, path: str, **body: Any) -> dict[str, Any]:
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
        connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        assert answer.status < 300, answer.read()
        return json.load(answer)


def clients(port: int, numbers: range) -> list[subprocess.Popen[str]]:
    return [
        subprocess.Popen([sys.executable, "-c", CLIENT, str(port), str(one)], stdout=subprocess.PIPE, text=True)
        for one in numbers
    ]


def acknowledged(process: subprocess.Popen[str]) -> list[list[str]]:
    output, _ = process.communicate(timeout=60)
    return [line.split() for line in output.splitlines() if len(line.split()) == 2]


def assert_sound(database: Path) -> None:
    with contextlib.closing(sqlite3.connect(database)) as raw:
        assert raw.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        for table in ("memories_fts", "memories_fts_tri"):
            raw.execute(f"INSERT INTO {table}({table}, rank) VALUES ('integrity-check', 1)")


def test_every_acknowledged_memory_survives_a_kill_amid_the_writes_of_six_clients(tmp_path: Path):
    with serving(tmp_path) as (service, port):
        writers = clients(port, range(6))
        assert writers[0].stdout
        first = [writers[0].stdout.readline().split() for _ in range(20)]  # all six are in the middle of it
        service.kill()
        kept = first + [line for writer in writers for line in acknowledged(writer)]
    assert 20 < len(kept) < 1200
    assert_sound(tmp_path / ".local/share/memory-mcp/memory.db")
    with serving(tmp_path) as (_, port), ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda one: ask(port, "/recall", query=one[1], mode="search", limit=1), kept))
    assert [answer["memories"][0]["uid"] for answer in found] == [uid for uid, _ in kept]


def test_two_services_on_one_database_lose_nothing(tmp_path: Path):
    with serving(tmp_path) as (_, one), serving(tmp_path) as (_, other):
        writers = [*clients(one, range(2)), *clients(other, range(2, 4))]
        kept = [acknowledged(writer) for writer in writers]
        assert [len(lines) for lines in kept] == [200, 200, 200, 200]
        uid, marker = kept[0][-1]  # written through one, found through the other
        assert ask(other, "/recall", query=marker, mode="search")["memories"][0]["uid"] == uid
    assert_sound(tmp_path / ".local/share/memory-mcp/memory.db")
