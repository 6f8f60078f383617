"""What was acknowledged survives a killed service and a second one beside it."""

import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.faults.soundness import assert_sound
from tests.service import Home

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


def clients(port: int, numbers: range) -> list[subprocess.Popen[str]]:
    return [
        subprocess.Popen([sys.executable, "-c", CLIENT, str(port), str(one)], stdout=subprocess.PIPE, text=True)
        for one in numbers
    ]


def acknowledged(process: subprocess.Popen[str]) -> list[list[str]]:
    output, _ = process.communicate(timeout=60)
    return [line.split() for line in output.splitlines() if len(line.split()) == 2]


def test_every_acknowledged_memory_survives_a_kill_amid_the_writes_of_six_clients(home: Home) -> None:
    service = home.start()
    writers = clients(service.port, range(6))
    assert writers[0].stdout
    first = [writers[0].stdout.readline().split() for _ in range(20)]  # all six are in the middle of it
    service.end(signal.SIGKILL)
    kept = first + [line for writer in writers for line in acknowledged(writer)]
    assert 20 < len(kept) < 1200
    assert_sound(home.database)
    service = home.start()
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda one: service.post("/recall", query=one[1], mode="search", limit=1), kept))
    assert [answer["memories"][0]["uid"] for answer in found] == [uid for uid, _ in kept]


def test_two_services_on_one_database_lose_nothing(home: Home) -> None:
    one, other = home.start(), home.start()
    writers = [*clients(one.port, range(2)), *clients(other.port, range(2, 4))]
    kept = [acknowledged(writer) for writer in writers]
    assert [len(lines) for lines in kept] == [200, 200, 200, 200]
    uid, marker = kept[0][-1]  # written through one, found through the other
    assert other.post("/recall", query=marker, mode="search")["memories"][0]["uid"] == uid
    home.end()
    assert_sound(home.database)
