"""Consolidation by real processes: one at a time, killed at any moment, beside writers."""

import contextlib
import signal
import sqlite3
import sys

import pytest

from tests import service
from tests.service import Home, one_line, until

pytestmark = [pytest.mark.server, pytest.mark.usefixtures("settled")]

PROJECTS = 12
TEXTS = (
    "The nightly deploy of the shop runs from the release branch.",
    "Nightly deploy of the shop: runs from the release branch as usual.",
)
WRAPPED = """
import os, sys, time
os.environ["DJANGO_SETTINGS_MODULE"] = "memsite.settings"
import django
django.setup()
from memories.truth import consolidation, summaries
real = {module}.{name}
calls = 0
def slow(*given, **named):
    global calls
    calls += 1
    if calls == {call}:
        open("reached", "w").close()
        while not os.path.exists("go"):
            time.sleep(0.02)
    return real(*given, **named)
{module}.{name} = slow
from memsite.cli import main
main()
"""
FILL = """
import os, sys
os.environ["DJANGO_SETTINGS_MODULE"] = "memsite.settings"
import django
django.setup()
from memories.remember import Draft, remember
for project in range({projects}):
    for text in {texts!r}:
        remember(Draft(content=text, project="acme/" + str(project)))
"""


def rows(home: Home, sql: str) -> list[tuple[object, ...]]:
    with contextlib.closing(sqlite3.connect(home.database, timeout=20)) as database:
        return database.execute(sql).fetchall()


def summaries(home: Home) -> int:
    return int(str(rows(home, "SELECT count(*) FROM memories_memory WHERE tier = 'semantic'")[0][0]))


@pytest.fixture
def filled(home: Home, settled: None, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(service, "COMMAND", [sys.executable, "-c", FILL.format(projects=PROJECTS, texts=TEXTS)])
        assert home.run().returncode == 0


def stopped_at(monkeypatch: pytest.MonkeyPatch, home: Home, *, module: str, name: str, call: int) -> service.Service:
    """A run that waits inside a call until there is a file `go`."""
    with monkeypatch.context() as patch:
        script = WRAPPED.format(module=module, name=name, call=call)
        patch.setattr(service, "COMMAND", [sys.executable, "-c", script])
        running = home.start("consolidate")
    until((home.path / "reached").exists)
    return running


@pytest.mark.usefixtures("filled")
def test_a_second_run_says_that_one_is_at_work(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    first = stopped_at(monkeypatch, home, module="summaries", name="put_in_place", call=3)
    assert "Another consolidation" in one_line(home.run("consolidate"))
    assert "Another consolidation" in one_line(home.run("consolidate", "--undo", "0" * 32))
    assert home.run("consolidate", "--dry-run").returncode == 0
    (home.path / "go").touch()
    assert first.process.wait(timeout=60) == 0
    assert summaries(home) == PROJECTS


@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize(
    ("module", "name", "call"),
    [("summaries", "put_in_place", 4), ("summaries.statements", "insert", 6), ("summaries.audit", "record", 3)],
)
def test_a_run_that_is_killed_leaves_whole_clusters_and_the_next_one_goes_on(
    home: Home, monkeypatch: pytest.MonkeyPatch, module: str, name: str, call: int
) -> None:
    running = stopped_at(monkeypatch, home, module=module, name=name, call=call)
    running.end(signal.SIGKILL)
    before = summaries(home)
    assert 0 < before < PROJECTS
    ended = "SELECT count(*) FROM memories_memory WHERE valid_to IS NOT NULL"
    assert rows(home, ended) == [(2 * before,)]
    assert rows(home, f"{ended} AND superseded_by_id IS NULL") == [(0,)]
    went_on = home.run("consolidate")
    assert went_on.returncode == 0, went_on.stderr
    assert summaries(home) == PROJECTS
    assert rows(home, ended) == [(2 * PROJECTS,)]
    assert "Made 0 of 0" in home.run("consolidate").stdout


@pytest.mark.usefixtures("filled")
def test_the_service_stores_and_finds_while_a_run_is_at_work(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    running = home.start(MEMORY_MAINTENANCE_ON_START="0")
    assert running.line
    run = stopped_at(monkeypatch, home, module="summaries", name="put_in_place", call=2)
    assert running.keep("Parrots are green.") == 201
    assert running.found("parrots") == ["Parrots are green."]
    assert running.ask("POST", "/api/maintenance/consolidate", {})[0] == 409
    (home.path / "go").touch()
    assert run.process.wait(timeout=60) == 0
    assert TEXTS[0] in running.found("nightly deploy")[0]
