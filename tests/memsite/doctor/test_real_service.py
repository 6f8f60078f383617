"""doctor beside the real service: with the hooks and the settings that install wrote."""

import json
import sqlite3

import pytest

from memsite.install.wiring import HOOK
from tests.service import Home

pytestmark = [pytest.mark.server, pytest.mark.usefixtures("settled")]


@pytest.mark.skipif(not HOOK.is_file(), reason="hook.py is not in this tree")
def test_after_installing_everything_is_fine_while_the_service_runs(home: Home) -> None:
    service = home.start()
    variables = {"MEMORY_PORT": str(service.port), "PATH": "/usr/bin:/bin"}
    names = ["claude", "codex", "copilot", "cursor", "gemini", "kimi", "qwen"]
    assert home.run("install", *names, **variables).returncode == 0
    result = home.run("doctor", "--json", **variables)
    found = json.loads(result.stdout)
    assert result.returncode == 0, result.stdout
    assert sum("hooks run" in one["what"] for one in found["findings"]) == len(names)
    service.end()
    down = home.run("doctor", **variables)
    assert down.returncode == 1
    assert "fail  No service answers" in down.stdout


def test_the_token_of_a_running_service_is_found_by_itself(home: Home) -> None:
    service = home.start(MEMORY_TOKEN="secret")
    result = home.run("doctor", MEMORY_PORT=str(service.port), PATH="/usr/bin:/bin")
    assert "the token that clients use is right" in result.stdout
    assert "secret" not in result.stdout + result.stderr
    assert result.returncode == 0, result.stdout


def test_a_lost_trigger_is_reported_and_mended(home: Home) -> None:
    with sqlite3.connect(home.database) as raw:
        raw.execute("DROP TRIGGER memories_fts_ai")
    raw.close()
    assert "memories_fts_ai" in home.run("doctor").stdout
    assert home.run("reindex").returncode == 0
    assert "are sound" in home.run("doctor").stdout


def test_installing_without_a_database_makes_none(home: Home) -> None:
    for path in home.data.iterdir():
        path.unlink()
    home.data.rmdir()
    assert home.run("install", "claude", "--dry-run").returncode == 0
    assert home.run("doctor").returncode == 1
    assert not home.data.exists()
    assert home.run("install", "claude").returncode == 0
    assert {path.name for path in home.data.iterdir()} == {"install.json", "install.lock"}
