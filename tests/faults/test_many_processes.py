"""Children on standard input and the service at one file, while it is kept up again and again: nothing is lost."""

import itertools
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.faults.soundness import assert_sound
from tests.service import Home, Service
from tests.stdio import Child, call, child

pytestmark = [pytest.mark.server, pytest.mark.usefixtures("settled")]

CHILDREN, TURNS = 6, 3
UPKEEP = ("consolidate", "purge", "backfill")
TEXTS = (
    "The nightly deploy of the shop runs from the release branch.",
    "Nightly deploy of the shop: runs from the release branch as usual.",
)
"""A consolidation makes one memory of both."""
MOST_SECONDS_TO_END = 2


def work_as_agent(one: Child, who: int) -> set[str]:
    """Stores, recalls and forgets one; gives the uids that were acknowledged and not forgotten."""
    kept: list[str] = []
    ids = itertools.count(1)

    def use(tool: str, **arguments: object) -> dict[str, object]:
        result = one.ask(call(next(ids), tool, **arguments))["result"]
        assert not result["isError"], result
        return dict(result["structuredContent"])

    for turn in range(TURNS):
        kept += [str(use("memory_store", content=text, project=f"shop/{who}-{turn}")["uid"]) for text in TEXTS]
        use("memory_recall", query="from which branch runs the nightly deploy?")
    use("memory_forget", uid=kept.pop())
    return set(kept)


def work_over_http(service: Service) -> set[str]:
    kept = set()
    for turn in range(TURNS):
        kept |= {service.post("/ingest", content=text, project=f"shop/http-{turn}")["uid"] for text in TEXTS}
        service.post("/recall", query="from which branch runs the nightly deploy?")
    return kept


def keep_up(home: Home, finished: threading.Event, folder: Path) -> list[subprocess.CompletedProcess[str]]:
    """Every command in turn until all have worked; at least once each."""
    done = []
    for number, command in enumerate(itertools.cycle([*UPKEEP, "backup"])):
        target = [str(folder / f"copy{number}.db")] if command == "backup" else []
        done.append(home.run(command, *target))
        if finished.is_set() and number >= len(UPKEEP):
            return done
    raise AssertionError


def uids_of(service: Service) -> set[str]:
    """Also what consolidation superseded: nothing of it was said to be forgotten."""
    found = service.ask("GET", "/api/memories?state=all&limit=500")[1]
    assert found["total"] <= 500
    return {item["uid"] for item in found["items"]}


def seconds_to_end(end: Callable[[], object]) -> float:
    begun = time.monotonic()
    end()
    return time.monotonic() - begun


def test_six_children_and_the_service_lose_nothing_while_it_is_kept_up(home: Home, tmp_path: Path) -> None:
    """Three began before there was a service, so they work at the file themselves; three speak through it."""
    folder = tmp_path / "copies"
    folder.mkdir()
    finished = threading.Event()
    with ExitStack() as stack:
        children = [stack.enter_context(child(home)) for _ in range(CHILDREN // 2)]
        for one in children:
            one.begin()
        service = home.start()
        assert service.line
        children += [stack.enter_context(child(home)) for _ in range(CHILDREN // 2)]
        for one in children[CHILDREN // 2 :]:
            one.begin()
        with ThreadPoolExecutor(CHILDREN + 2) as pool:
            upkeep = pool.submit(keep_up, home, finished, folder)
            agents = [pool.submit(work_as_agent, one, who) for who, one in enumerate(children)]
            agents.append(pool.submit(work_over_http, service))
            try:
                kept = set().union(*(one.result() for one in agents))
            finally:
                finished.set()
            done = upkeep.result()
        assert [(one.args, one.stderr) for one in done if one.returncode] == []
        assert kept <= uids_of(service)
        assert service.ask("GET", "/api/memories?tier=semantic")[1]["total"], "nothing was consolidated"
        assert "Traceback" not in service.log

        for one in children[1::2]:
            one.process.send_signal(signal.SIGTERM)
        ended = [seconds_to_end(one.close) for one in children] + [seconds_to_end(service.end)]
        assert max(ended) < MOST_SECONDS_TO_END
        assert {one.process.returncode for one in children} | {service.process.returncode} == {0}
    assert_sound(home.database)
    for copy in folder.iterdir():
        assert_sound(copy)
