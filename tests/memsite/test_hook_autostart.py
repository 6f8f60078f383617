"""hook.py starts the service, once."""

import json
import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from memsite import discovery
from tests.memsite.hooks import LATE, PROMPT, Liar, publish, run
from tests.service import MARKER, Home, until

pytestmark = pytest.mark.server


class TestAutostart:
    @pytest.fixture
    def unstarted(self, home: Home, settled: None) -> Iterator[Home]:
        """A home whose service is ended afterwards, by the pid that it published."""
        yield home
        running = discovery.read(home.discovery)
        if running:
            os.kill(running.pid, signal.SIGTERM)
            until(lambda: not home.discovery.exists())

    def log(self, home: Home) -> str:
        path = home.data / "memory.db.log"
        return path.read_text() if path.exists() else ""

    def test_ten_sessions_that_begin_at_once_start_one_service_and_say_it_once(self, unstarted: Home) -> None:
        begin = {**PROMPT, "source": "startup"}
        with ThreadPoolExecutor(10) as pool:
            ran = list(pool.map(lambda _: run(unstarted, "SessionStart", begin, "--autostart"), range(10)))
        said = [one.out for one in ran if one.out]
        assert [one.code for one in ran] == [0] * 10
        assert all(one.seconds < 3 * LATE for one in ran)
        assert len(said) == 1
        assert json.loads(said[0]).keys() == {"systemMessage"}
        running = until(lambda: discovery.read(unstarted.discovery))
        assert until(lambda: discovery.health(running.url))["pid"] == running.pid
        assert self.log(unstarted).count(MARKER) == 1
        environment = Path(f"/proc/{running.pid}/environ")
        assert not environment.exists() or b"MEMORY_HOOK_ACTIVE=1" in environment.read_bytes()
        assert run(unstarted, "SessionStart", begin, "--autostart").is_silent
        os.kill(running.pid, signal.SIGTERM)
        until(lambda: not unstarted.discovery.exists())
        until(lambda: not Path(f"/proc/{running.pid}").exists() or is_zombie(running.pid))
        assert run(unstarted, "SessionStart", begin, MEMORY_PLUGIN_AUTOSTART="1").out == ""
        assert until(lambda: discovery.read(unstarted.discovery)).pid != running.pid

    def test_a_plugin_and_hooks_at_once_start_one_service_too(self, unstarted: Home) -> None:
        """A plugin starts the command itself, as it cannot hold a lock."""
        begin = {**PROMPT, "source": "startup"}
        of_plugin = {"MEMORY_HOOK_ACTIVE": "1", "MEMORY_DISCOVERY_FILE": str(unstarted.discovery)}
        started = [unstarted.start(**of_plugin) for _ in range(2)]
        assert run(unstarted, "SessionStart", begin, "--autostart").code == 0
        started += [unstarted.start(**of_plugin) for _ in range(2)]
        running = until(lambda: discovery.read(unstarted.discovery))
        losers = [one for one in started if one.process.pid != running.pid]
        assert [one.process.wait(timeout=20) for one in losers] == [0] * len(losers)
        assert len(losers) >= 3
        texts = [self.log(unstarted), *(one.out.read_text() for one in started)]
        assert sum(text.count(MARKER) for text in texts) == 1
        assert all("already" in one.log for one in losers)

    def test_nothing_else_starts_it(self, unstarted: Home, lying: Callable[[bytes | None], Liar]) -> None:
        begin = {**PROMPT, "source": "startup"}
        assert run(unstarted, "UserPromptSubmit", PROMPT, "--autostart").is_silent
        assert run(unstarted, "SessionStart", begin).is_silent
        assert run(unstarted, "SessionStart", begin, MEMORY_PLUGIN_AUTOSTART="0").is_silent
        elsewhere = {"MEMORY_PLUGIN_URL": "http://127.0.0.1:9"}
        assert run(unstarted, "SessionStart", begin, "--autostart", **elsewhere).is_silent
        publish(unstarted, lying(None).url)
        assert run(unstarted, "SessionStart", begin, "--autostart").is_silent
        unstarted.discovery.unlink()
        assert not (unstarted.data / "memory.db.log").exists()


def is_zombie(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
