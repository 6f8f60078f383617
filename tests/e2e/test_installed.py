"""Real agent programs read what install wrote into their settings."""

import json
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.requirements import need
from tests.service import Home

pytestmark = [pytest.mark.server, pytest.mark.usefixtures("settled")]
FOREIGN = re.compile("anthropic|claude|openai|codex|opencode|memory_|xdg_", re.IGNORECASE)
QUIET = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "OPENCODE_DISABLE_AUTOUPDATE": "1",
    "OPENCODE_DISABLE_MODELS_FETCH": "1",
    "npm_config_fetch_retries": "0",
}


@dataclass(frozen=True)
class Agents:
    folder: Path

    def path(self, program: str) -> Path:
        return (
            self.folder
            / {
                "claude": "cc2/node_modules/@anthropic-ai/claude-code-linux-x64/claude",
                "codex": "cx/node_modules/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex",
                "opencode": "oc/node_modules/opencode-linux-x64/bin/opencode",
            }[program]
        )

    def ask(self, home: Home, program: str, *arguments: str) -> str:
        env = {name: value for name, value in home.environment().items() if not FOREIGN.match(name)} | QUIET
        done = subprocess.run(
            [self.path(program), *arguments],
            env=env,
            cwd=home.path,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture(scope="session")
def agents() -> Agents:
    folder = Path(os.environ.get("MEMSITE_AGENTS", "/nowhere"))
    need((folder / "cc2/installed").exists(), "MEMSITE_AGENTS is not the folder that .ci/agents fills")
    return Agents(folder)


def test_claude_code_connects_to_the_server_that_was_installed(home: Home, agents: Agents) -> None:
    service = home.start()
    assert home.run("install", "claude", MEMORY_PORT=str(service.port)).returncode == 0
    assert f"{service.url}/mcp" in agents.ask(home, "claude", "mcp", "get", "memory")
    assert "Connected" in agents.ask(home, "claude", "mcp", "list")
    assert home.run("uninstall", "claude", MEMORY_PORT=str(service.port)).returncode == 0
    assert "memory" not in agents.ask(home, "claude", "mcp", "list")


def test_codex_lists_the_server_and_doctor_sees_that_the_hooks_are_not_trusted(home: Home, agents: Agents) -> None:
    assert home.run("install", "codex", MEMORY_PORT="9").returncode == 0
    assert "http://127.0.0.1:9/mcp" in agents.ask(home, "codex", "mcp", "list")
    search = f"{agents.path('codex').parent}:/usr/bin:/bin"
    said = home.run("doctor", MEMORY_PORT="9", PATH=search).stdout
    assert "fail  Codex: 4 of 4 hooks are not trusted" in said


def test_opencode_reads_the_server_and_the_plugin_with_its_options(home: Home, agents: Agents) -> None:
    (home.path / ".config/opencode").mkdir(parents=True)
    (home.path / ".config/opencode/opencode.jsonc").write_text('{\n  // mine\n  "share": "disabled",\n}\n')
    assert home.run("install", "opencode", MEMORY_PORT="9").returncode == 0
    found = json.loads(agents.ask(home, "opencode", "debug", "config"))
    assert found["mcp"]["memory"]["url"] == "http://127.0.0.1:9/mcp"
    assert found["share"] == "disabled"
    ((url, options),) = found["plugin"]
    assert url.startswith("file:///")
    assert options["autostart"] is True
