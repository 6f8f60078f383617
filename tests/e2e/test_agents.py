"""Real agent programs, each in an empty home, at the real service; a mock stands for their model."""

import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from memsite import hook
from tests.requirements import need
from tests.service import Home, Service, until

pytestmark = pytest.mark.server
PLUGIN = Path(__file__).parents[2] / "opencode-plugin/memory.ts"
HOOK = f"{sys.executable} -I -S {hook.__file__} {{harness}} {{event}}"
FACT = "The deploy key rotates on Tuesdays at noon."
CLAUDE = "cc2/node_modules/@anthropic-ai/claude-code-linux-x64/claude"
FOREIGN = re.compile(
    "anthropic|claude|openai|codex|gemini|google|copilot|kimi|qwen|opencode|memory_|xdg_", re.IGNORECASE
)


@dataclass(frozen=True)
class Agents:
    """The programs, and `accept.py` and `mock.py` that talk to them."""

    programs: Path
    checks: Path

    def accept(self, program: str, *options: str) -> str:
        plugin = ["--plugin", str(PLUGIN)] if program == "opencode" else []
        command = [sys.executable, str(self.checks / "accept.py"), "--only", program, "--hook", HOOK, *plugin, *options]
        kept = {name: value for name, value in os.environ.items() if name != "PWD"}  # opencode believes it
        env = {**kept, "HARNESS_DIR": str(self.programs)}
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=400, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture(scope="session")
def agents() -> Agents:
    programs = Path(os.environ.get("MEMSITE_AGENTS", "/nowhere"))
    checks = Path(os.environ.get("MEMSITE_AGENT_CHECKS", "/nowhere"))
    need((programs / "cc2/installed").exists(), "MEMSITE_AGENTS is not the folder that .ci/agents fills")
    if not (checks / "accept.py").exists():  # not part of this repository
        pytest.skip("MEMSITE_AGENT_CHECKS is not the folder of accept.py")
    return Agents(programs, checks)


@pytest.fixture
def service(agents: Agents, home: Home, settled: None) -> Service:
    service = home.start()
    for number in range(30):
        service.keep(f"Note {number} on the tea kitchen: shelf {number} holds cups.")
    return service


@pytest.fixture(params=["claude", "codex", "opencode"])
def program(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    if name == "opencode" and not PLUGIN.exists():
        pytest.skip("there is no opencode plugin")
    return name


def test_memories_reach_the_prompt_and_tools_are_called(agents: Agents, service: Service, program: str) -> None:
    uid = service.post("/ingest", content=FACT)["uid"]
    place = ["--memory-url", service.url, "--mcp-url", f"{service.url}/mcp"]
    said = agents.accept(program, *place, "--expect", FACT, "--mcp-expect", uid)
    prefixes = json.loads(said[said.index("{") :].partition("\n")[0])["prefix_kept"]
    assert prefixes
    for kept in prefixes:  # what was sent once is sent again unchanged: the prompt cache holds
        same, _, all_of_it = kept.partition("/")
        assert same == all_of_it, said
    [injection] = service.ask("GET", "/api/injections")[1]["items"]
    assert (injection["harness"], injection["uids"]) == (program, [uid])


def test_a_turn_succeeds_whatever_the_service_does(agents: Agents, program: str) -> None:
    said = agents.accept(program)
    result = json.loads(said[said.index("{") :].partition("\n")[0])
    for state in ("down_ok", "hang_ok"):
        code, answered, _seconds = result[state]
        assert (code, answered) == (0, True)


@dataclass(frozen=True)
class Claude:
    """Claude Code with our hooks, in a home of its own."""

    binary: Path
    home: Path
    env: dict[str, str]

    def say(self, text: str, *options: str) -> None:
        done = subprocess.run(
            [self.binary, "-p", text, *options],
            cwd=self.home / "shop",
            env=self.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def claude(agents: Agents, service: Service, tmp_path: Path) -> Iterator[Claude]:
    home = tmp_path / "user"
    (home / "shop").mkdir(parents=True)
    (home / ".claude").mkdir()
    events = ("SessionStart", "UserPromptSubmit", "PostToolUse", "PreCompact")
    commands = {name: HOOK.format(harness="claude", event=name) for name in events}
    hooks = {
        name: [{"hooks": [{"type": "command", "command": command, "timeout": 5}]}] for name, command in commands.items()
    }
    (home / ".claude/settings.json").write_text(json.dumps({"hooks": hooks}))
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    log = home / "model"
    model = subprocess.Popen(
        [sys.executable, agents.checks / "mock.py", str(port), str(log)], stdout=subprocess.PIPE, text=True
    )
    assert model.stdout
    assert model.stdout.readline().startswith("listening")
    env = {name: value for name, value in os.environ.items() if not FOREIGN.match(name)} | {
        "HOME": str(home),
        "CLAUDE_CONFIG_DIR": str(home / ".claude"),
        "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}",
        "ANTHROPIC_API_KEY": "sk-ant-dummy",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "MEMORY_PLUGIN_URL": service.url,
        "MEMORY_PLUGIN_TOOL_CAPTURE": "bash",
    }
    yield Claude(agents.programs / CLAUDE, home, env)
    model.terminate()
    model.wait(10)
    model.stdout.close()


def sources(service: Service, source: str) -> list[str]:
    return [item["content"] for item in service.ask("GET", f"/api/memories?source={source}")[1]["items"]]


def test_what_claude_code_hears_runs_and_compacts_away_is_kept(claude: Claude, service: Service) -> None:
    service.keep(FACT)
    claude.say("Remember that our staging database is called blueberry.")
    assert sources(service, "chat") == ["our staging database is called blueberry."]
    call = {"tool": "Bash", "args": {"command": "echo deployed to srv-$((40 + 2))", "description": "deploy"}}
    claude.say(f"when does the deploy key rotate? CALL{json.dumps(call)}", "-c", "--allowedTools", "Bash")
    [output] = sources(service, "tool")
    assert output == "Bash (echo deployed to srv-$((40 + 2))):\ndeployed to srv-42"
    assert sources(service, "compaction") == []
    claude.say("/compact", "-c")
    kept = until(lambda: sources(service, "compaction"))
    assert "User: Remember that our staging database is called blueberry." in kept
    assert not any("semantic-memory" in text or FACT in text for text in kept)
    injections = service.ask("GET", "/api/injections")[1]["items"]
    assert [one["hook"] for one in injections] == ["SessionStart", "UserPromptSubmit"]  # told again after it
