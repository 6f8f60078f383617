"""The scheduler in real processes on one database, with short times."""

import contextlib
import signal
import sqlite3
import sys
import time

import pytest

from tests import service
from tests.service import Home, Service, until

pytestmark = [pytest.mark.server, pytest.mark.usefixtures("settled")]

QUICK = """
import os
os.environ["DJANGO_SETTINGS_MODULE"] = "memsite.settings"
import django
django.setup()
from memsite import scheduler
scheduler.LEASE_SECONDS, scheduler.RENEW_SECONDS, scheduler.TICK_SECONDS = 2.0, 0.4, 0.3
{extra}
from memsite.cli import main
main()
"""
ALIKE = ("The nightly deploy runs from the release branch.", "Nightly deploy: runs from the release branch as usual.")


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "COMMAND", [sys.executable, "-c", QUICK.format(extra="")])


def start(home: Home, *arguments: str, **variables: str) -> Service:
    return home.start(
        *arguments,
        MEMORY_SCHEDULER="1",
        MEMORY_CONSOLIDATION_MIN_EPISODIC="0",
        MEMORY_MAINTENANCE_ON_START="0",
        **variables,
    )


def rows(home: Home, sql: str) -> list[tuple[object, ...]]:
    with contextlib.closing(sqlite3.connect(home.database, timeout=20)) as database:
        return database.execute(sql).fetchall()


def owner(home: Home) -> int:
    found = rows(home, "SELECT owner FROM memories_lease WHERE name = 'scheduler'")
    return int(str(found[0][0]).split(":")[1]) if found else 0


def due(home: Home, *names: str) -> None:
    """As if their time had come."""
    with contextlib.closing(sqlite3.connect(home.database, timeout=20)) as database:
        for name in names:
            database.execute("UPDATE memories_lease SET until = '2020-01-01 00:00:00' WHERE name = ?", [name])
        database.commit()


def is_joined(home: Home) -> bool:
    return rows(home, "SELECT count(*) FROM memories_memory WHERE tier = 'semantic' AND deleted_at IS NULL") == [(1,)]


def test_it_is_off_by_default(home: Home) -> None:
    running = home.start(MEMORY_MAINTENANCE_ON_START="0")
    assert running.keep("anything") == 201
    assert rows(home, "SELECT name FROM memories_lease") == []


@pytest.mark.parametrize("arguments", [[], ["--workers", "2"]], ids=["alone", "workers"])
def test_it_consolidates_and_purges_while_the_service_runs(home: Home, arguments: list[str]) -> None:
    running = start(home, *arguments)
    assert running.line
    until(lambda: len(rows(home, "SELECT name FROM memories_lease")) == 3)
    for text in ALIKE:
        assert running.keep(text) == 201
    uid = running.post("/ingest", content="to be forgotten")["uid"]
    assert running.ask("DELETE", f"/api/memories/{uid}")[0] == 204
    due(home, "consolidation", "purge")
    until(lambda: is_joined(home))
    until(lambda: not rows(home, "SELECT 1 FROM memories_memory WHERE content = 'to be forgotten'"))
    assert set(rows(home, "SELECT actor FROM memories_auditentry WHERE action IN ('consolidate', 'purge')")) == {
        ("scheduler",)
    }
    assert running.end() == 0
    assert owner(home) == 0


def test_an_interval_of_nought_never_consolidates(home: Home) -> None:
    running = start(home, MEMORY_CONSOLIDATION_INTERVAL_MINUTES="0")
    for text in ALIKE:
        running.keep(text)
    until(lambda: rows(home, "SELECT name FROM memories_lease WHERE name = 'purge'"))
    seen = rows(home, "SELECT until FROM memories_lease WHERE name = 'scheduler'")
    until(lambda: rows(home, "SELECT until FROM memories_lease WHERE name = 'scheduler'") != seen)
    assert not is_joined(home)


def test_one_of_several_processes_works_and_another_takes_over_when_it_is_killed(home: Home) -> None:
    first, second = start(home), start(home)
    assert first.line["pid"] != second.line["pid"]
    working, waiting = (first, second) if until(lambda: owner(home)) == first.process.pid else (second, first)
    assert working.process.pid == owner(home)
    working.end(signal.SIGKILL)
    for text in ALIKE:
        assert waiting.keep(text) == 201
    until(lambda: owner(home) == waiting.process.pid)
    due(home, "consolidation")
    until(lambda: is_joined(home))


def test_an_owner_that_ends_leaves_the_work_at_once(home: Home) -> None:
    first = start(home)
    assert first.line
    until(lambda: owner(home) == first.process.pid)
    assert first.end() == 0
    assert owner(home) == 0


def test_errors_are_logged_and_end_nothing(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    extra = """
def fail(**_):
    raise RuntimeError("planted failure")
scheduler.maintenance.purge = fail
"""
    monkeypatch.setattr(service, "COMMAND", [sys.executable, "-c", QUICK.format(extra=extra)])
    running = start(home)
    for text in ALIKE:
        running.keep(text)
    until(lambda: "planted failure" in running.log)
    due(home, "consolidation")
    until(lambda: is_joined(home))


def test_work_that_takes_long_neither_overlaps_nor_holds_up_the_end(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    extra = """
import sys, time
scheduler.PURGE_SECONDS = 0.01
def slow(**_):
    sys.stderr.write("began\\\\n")
    sys.stderr.flush()
    time.sleep(60)
scheduler.maintenance.purge = slow
"""
    monkeypatch.setattr(service, "COMMAND", [sys.executable, "-c", QUICK.format(extra=extra.replace("\\\\", "\\"))])
    running = start(home)
    assert running.line
    until(lambda: "began" in running.log)
    renewed = "SELECT until FROM memories_lease WHERE name = 'scheduler'"
    for _ in range(4):
        seen = rows(home, renewed)
        until(lambda seen=seen: rows(home, renewed) != seen)
    assert running.log.count("began") == 1
    began = time.monotonic()
    assert running.end() == 0
    assert time.monotonic() - began < 10
