"""What docs/adapters.md tells people to run."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.service import Home

pytestmark = pytest.mark.server
PAGE = (Path(__file__).parents[2] / "docs/adapters.md").read_text()
FACT = "The deploy key rotates on Tuesdays."
EVENT = {"session_id": "s1", "cwd": "/w/acme/shop", "prompt": "when does the deploy key rotate?"}


def test_the_script_for_any_program_prints_a_block_once_and_reports_it(home: Home, settled: None) -> None:
    if not shutil.which("jq") or not shutil.which("curl"):
        pytest.skip("jq or curl is not installed")
    script = re.search(r"```sh\n(.+?)```", PAGE, re.DOTALL)
    assert script
    service = home.start()
    service.keep(FACT)
    tags = {"MEMORY_PLUGIN_URL": service.url, "MEMORY_HARNESS": "goose", "MEMORY_HOOK": "BeforeAnything"}

    def run(event: str, **variables: str) -> str:
        done = subprocess.run(
            ["sh", "-c", script[1]],
            input=event,
            env=home.environment(**{**tags, **variables}),
            capture_output=True,
            text=True,
            timeout=30,
            check=True,
        )
        return done.stdout

    assert FACT in run(json.dumps(EVENT))
    assert run(json.dumps(EVENT)) == ""
    [injection] = service.ask("GET", "/api/injections")[1]["items"]
    assert (injection["harness"], injection["hook"], injection["project"]) == ("goose", "BeforeAnything", "acme/shop")
    assert run("no json") == ""
    assert run(json.dumps(EVENT), MEMORY_PLUGIN_URL="http://127.0.0.1:9") == ""


def test_the_line_for_claude_shaped_programs_works(home: Home, settled: None) -> None:
    if not shutil.which("curl"):
        pytest.skip("curl is not installed")
    [line] = re.findall(r"^curl .+$", PAGE, re.MULTILINE)
    service = home.start()
    service.keep(FACT)
    command = line.replace("http://127.0.0.1:8765", service.url)
    done = subprocess.run(["sh", "-c", command], input=json.dumps(EVENT), capture_output=True, text=True, check=True)
    assert FACT in json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]
