"""Readers, writers, maintenance and other programs at the same file at once: nobody fails, nothing is lost."""

import contextlib
import sqlite3
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.faults.soundness import assert_sound
from tests.service import Home, Service

pytestmark = [pytest.mark.server, pytest.mark.usefixtures("settled")]
MEGABYTE = 1024 * 1024
COUNTING = """
import sqlite3, sys, time
raw = sqlite3.connect(sys.argv[1], timeout=30, isolation_level=None)
for _ in range(50):
    raw.execute("BEGIN IMMEDIATE")
    (count,) = raw.execute("SELECT count FROM counter").fetchone()
    time.sleep(0.004)
    raw.execute("UPDATE counter SET count = ?", (count + 1,))
    raw.execute("COMMIT")
"""


def assert_quiet(service: Service) -> None:
    assert "ERROR" not in service.log
    assert "Traceback" not in service.log


def test_ten_recalls_at_once_go_on_while_others_store(home: Home) -> None:
    service = home.start()
    service.keep("The parrot is green.")

    def recall(number: int) -> set[int]:
        body = {"query": "green parrot", "session": f"s{number}"}
        return {service.ask("POST", "/recall", body)[0] for _ in range(15)}

    def store(number: int) -> set[int]:
        return {service.keep(f"note {number} {turn}") for turn in range(40)}

    with ThreadPoolExecutor(13) as pool:
        recalls, stores = pool.map(recall, range(10)), pool.map(store, range(3))
        assert set().union(*recalls) == {200}
        assert set().union(*stores) == {201}
    assert service.ask("GET", "/api/memories?limit=1")[1]["total"] == 121
    assert_quiet(service)


def test_recalls_and_stores_go_on_while_a_big_file_is_purged(home: Home) -> None:
    service = home.start(MEMORY_TOKEN="owner", MEMORY_MAINTENANCE_ON_START="0")
    service.keep("The parrot is green.")
    _, gone = service.ask("POST", "/ingest", {"content": "The zanzibar parrot is gone."})
    service.ask("DELETE", f"/api/memories/{gone['uid']}")
    with contextlib.closing(sqlite3.connect(home.database)) as raw:
        raw.execute("CREATE TABLE ballast (content)")
        raw.executemany("INSERT INTO ballast VALUES (zeroblob(?))", [(MEGABYTE,)] * 200)
        raw.commit()
    finished = threading.Event()
    times: list[float] = []
    statuses: set[tuple[str, int]] = set()

    def recall() -> None:
        while not finished.is_set():
            begun = time.monotonic()
            statuses.add(("recall", service.ask("POST", "/recall", {"query": "green parrot", "session": "s"})[0]))
            times.append(time.monotonic() - begun)

    def store() -> None:
        turn = 0
        while not finished.is_set():
            turn += 1
            statuses.add(("store", service.keep(f"note {turn}")))

    with ThreadPoolExecutor(3) as pool:
        working = [pool.submit(recall), pool.submit(recall), pool.submit(store)]
        begun, before = time.monotonic(), len(times)
        status, purged = service.ask("POST", "/api/maintenance/purge")
        took, during = time.monotonic() - begun, len(times) - before
        finished.set()
        for one in working:
            one.result()
    assert (status, purged["forgotten"]) == (200, 1)
    assert purged["scrubbed"], purged["reason"]
    assert statuses == {("recall", 200), ("store", 201)}, service.log
    assert during >= 5, f"{during} recalls in {took:.1f} s"
    assert max(times) < max(2, took / 2), f"a recall took {max(times):.1f} s of the {took:.1f} s of the purge"
    assert b"zanzibar" not in home.database.read_bytes()
    assert_sound(home.database)


def test_other_programs_that_read_then_write_fail_nobody(home: Home) -> None:
    service = home.start()
    with contextlib.closing(sqlite3.connect(home.database)) as raw:
        raw.executescript("CREATE TABLE counter (count); INSERT INTO counter VALUES (0)")
    counting = [subprocess.Popen([sys.executable, "-c", COUNTING, str(home.database)]) for _ in range(2)]

    def store(number: int) -> set[int]:
        return {service.keep(f"note {number} {turn}") for turn in range(40)}

    with ThreadPoolExecutor(4) as pool:
        assert set().union(*pool.map(store, range(4))) == {201}
    assert [process.wait(timeout=60) for process in counting] == [0, 0]
    with contextlib.closing(sqlite3.connect(home.database)) as raw:
        assert raw.execute("SELECT count FROM counter").fetchone() == (100,)
    assert service.ask("GET", "/api/memories?limit=1")[1]["total"] == 160
    assert_quiet(service)
    assert_sound(home.database)
