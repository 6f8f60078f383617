"""Installing, again, from elsewhere, and taking it out: whatever others wrote stays to the byte."""

import json
import stat
from collections.abc import Callable
from pathlib import Path

from memsite.harnesses import NAMES
from memsite.install.harnesses import HARNESSES
from tests.memsite.install.existing import (
    CLAUDE_SETTINGS,
    CLAUDE_STATE,
    CODEX_CONFIG,
    EXISTING,
    every_harness,
    hooks_of,
    parsed,
    plugins,
    prepare,
    servers,
    settings_of,
)
from tests.memsite.user import User

type Moved = Callable[[str], None]
PROMPT_EVENTS = {"gemini": "BeforeAgent", "copilot": "userPromptSubmitted", "cursor": "beforeSubmitPrompt"}


@every_harness
def test_hooks_for_every_event_and_one_server(user: User, name: str) -> None:
    prepare(user, name)
    user.run("install", name)
    found = settings_of(user)
    assert len(servers(list(found.values()))) == 1
    if name == "opencode":
        ((url, options),) = [one for data in found.values() for one in plugins(data)]
        assert url.startswith("file:///")
        assert options["hook"][1:3] == ["-I", "-S"]
        assert Path(options["hook"][3]).name == "hook.py"
        assert options["autostart"] is True
    else:
        events = {command.split()[-2] for command in hooks_of(user)}
        assert events == {"UserPromptSubmit", "SessionStart", "PostToolUse", "PreCompact"}
        assert len(hooks_of(user)) == 4


@every_harness
def test_installing_again_changes_nothing(user: User, name: str) -> None:
    prepare(user, name)
    user.run("install", name)
    first = user.files()
    said = user.run("install", name) + user.run("install", name)
    assert user.files() == first
    assert "changed" not in said


@every_harness
def test_uninstalling_gives_every_file_back(user: User, name: str) -> None:
    before = prepare(user, name)
    user.run("install", name)
    assert user.files() != before
    user.run("uninstall", name)
    assert user.files() == before


@every_harness
def test_without_any_settings_nothing_is_left_behind(user: User, name: str) -> None:
    user.run("install", name)
    assert user.files()
    user.run("uninstall", name)
    assert [path for path in user.home.rglob("*") if ".local" not in path.parts] == []


@every_harness
def test_an_upgrade_replaces_what_was_there(user: User, name: str, moved: Moved) -> None:
    before = prepare(user, name)
    moved("/opt/one")
    user.run("install", name)
    moved("/opt/two/with space")
    user.run("install", name)
    user.run("install", name)
    text = json.dumps(settings_of(user))
    assert "/opt/one" not in text
    assert "/opt/two/with space" in text
    assert len(servers(list(settings_of(user).values()))) == 1
    assert len(hooks_of(user)) in (0, 4)
    user.run("uninstall", name)
    assert user.files() == before


@every_harness
def test_what_a_person_changed_meanwhile_stays(user: User, name: str) -> None:
    before = prepare(user, name)
    user.run("install", name)
    for file in EXISTING[name]:
        path = user.home / file
        text = path.read_text()
        added = "\n[mine]\nx = 1\n" if file.endswith(".toml") else "// mine\n"
        path.write_bytes(
            (text + added).encode() if file.endswith(".toml") else (added + text.lstrip("\ufeff")).encode()
        )
    user.run("uninstall", name)
    after = user.files()
    assert {name for name in after if not name.endswith(".bak")} == set(before)
    for file in EXISTING[name]:
        left = after[file].decode().replace("// mine\n", "").replace("\n[mine]\nx = 1\n", "")
        expected = before[file].decode().lstrip("\ufeff")
        assert "".join(left.split()) == ("".join(expected.split()) or "{}")


@every_harness
def test_a_record_that_was_lost_is_not_needed(user: User, name: str) -> None:
    before = prepare(user, name)
    user.run("install", name)
    (user.home / ".local/share/memory-mcp/install.json").unlink()
    user.run("uninstall", name)
    for file, content in before.items():
        assert parsed(user.files()[file]) == (parsed(content) if content else {}), file
    assert not hooks_of(user)


@every_harness
def test_a_dry_run_shows_the_change_and_writes_nothing(user: User, name: str) -> None:
    before = prepare(user, name)
    said = user.run("install", name, "--dry-run")
    assert "+++ " in said
    assert "memsite/hook.py" in said
    assert user.files() == before
    assert not (user.home / ".local").exists()
    user.run("install", name)
    installed = user.files()
    assert "-" in user.run("uninstall", name, "--dry-run")
    assert user.files() == installed


@every_harness
def test_by_stdio_the_program_starts_the_server_and_is_told_what_is_missing(user: User, name: str) -> None:
    user.run("install", name)
    said = user.run("install", name, "--stdio")
    (server,) = servers(list(settings_of(user).values()))
    assert not {"url", "httpUrl", "headers"} & server.keys()
    command = server["command"]
    words = [*(command if isinstance(command, list) else [command]), *server.get("args", [])]
    assert words[-1] == "--stdio"
    assert Path(words[0]).is_absolute()
    assert "need the service" in said


@every_harness
def test_no_file_holds_a_token(user: User, name: str, configure: Callable[..., None]) -> None:
    configure(token="the-secret-token", db_path=user.home / "memory.db")
    said = user.run("install", name)
    contents = b"".join(path.read_bytes() for path in user.home.rglob("*") if path.is_file())
    assert b"the-secret-token" not in contents
    assert b"MEMORY_TOKEN" in contents
    assert "MEMORY_TOKEN" in said


def test_links_modes_and_one_copy_stay(user: User) -> None:
    real = user.write("dotfiles/claude.json", CLAUDE_SETTINGS)
    real.chmod(0o600)
    (user.home / ".claude").mkdir()
    link = user.home / ".claude/settings.json"
    link.symlink_to(real)
    user.run("install", "claude")
    user.run("install", "claude", "--stdio")
    assert link.is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o600
    (copy,) = real.parent.glob("*.bak")
    assert copy.read_text() == CLAUDE_SETTINGS
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600


def test_a_hook_written_by_hand_is_replaced_and_a_stranger_keeps_the_name_memory(user: User) -> None:
    by_hand = {"hooks": [{"type": "http", "url": "http://127.0.0.1:8765/hook/claude?event=UserPromptSubmit"}]}
    together = {"matcher": "", "hooks": [{"command": "mine"}, {"command": "/old/memsite/hook.py claude PostToolUse"}]}
    stale = {"hooks": [{"command": "'/old/memsite/hook.py' claude Stop"}]}
    hooks = {"UserPromptSubmit": [by_hand], "PostToolUse": [together, stale], "Stop": [stale]}
    user.write(".claude/settings.json", json.dumps({"hooks": hooks}))
    user.write(".claude.json", CLAUDE_STATE)
    user.run("install", "claude")
    assert len(hooks_of(user)) == 4
    found = settings_of(user)[".claude/settings.json"]["hooks"]
    assert "Stop" not in found
    assert found["PostToolUse"][0]["hooks"][0] == {"command": "mine"}
    assert found["PostToolUse"][0]["hooks"][1]["command"].endswith("claude PostToolUse --autostart")
    named = settings_of(user)[".claude.json"]["mcpServers"]
    assert named["memory"]["command"] == "npx"
    assert named["memsite"]["url"] == "http://127.0.0.1:8765/mcp"
    user.run("uninstall", "claude")
    assert settings_of(user)[".claude/settings.json"] == {
        "hooks": {"PostToolUse": [{"matcher": "", "hooks": [{"command": "mine"}]}]}
    }


def test_trust_that_codex_wrote_behind_our_table_survives(user: User) -> None:
    prepare(user, "codex")
    user.run("install", "codex")
    path = user.home / ".codex/config.toml"
    trust = '\n[hooks.state."x:user_prompt_submit:0:0"]\ntrusted_hash = "sha256:11"\n'
    path.write_text(path.read_text() + trust)
    user.run("install", "codex", "--stdio")
    assert path.read_text().endswith(trust)
    user.run("uninstall", "codex")
    assert path.read_text() == CODEX_CONFIG + trust


def test_opencode_2_gets_its_own_form(user: User) -> None:
    user.write(".config/opencode/opencode.json", '{"plugins": [], "mcp": {"servers": {}}}')
    user.run("install", "opencode")
    found = settings_of(user)[".config/opencode/opencode.json"]
    assert list(found["mcp"]["servers"]) == ["memory"]
    assert found["plugins"][0]["package"].startswith("file:///")
    assert found["plugins"][0]["options"]["autostart"] is True


def test_the_command_survives_a_shell(user: User, moved: Moved) -> None:
    import shlex

    moved('/opt/it\'s $HOME "here"')
    user.run("install", "claude")
    for command in hooks_of(user):
        words = shlex.split(command)
        assert words[0] == '/opt/it\'s $HOME "here"/bin/python'
        assert words[3] == '/opt/it\'s $HOME "here"/lib/memsite/hook.py'


def test_twins_of_earlier_versions_become_one(user: User) -> None:
    old = {"command": "/old/bin/memory-mcp", "args": ["--stdio"]}
    older = {"command": "python", "args": ["-m", "memsite.cli", "--stdio"]}
    hook = {"hooks": [{"command": "/old/memsite/hook.py qwen PreCompact"}]}
    data = {"mcpServers": {"memory": old, "mem": older}, "hooks": {"PreCompact": [hook, hook]}}
    user.write(".qwen/settings.json", json.dumps(data))
    user.run("install", "qwen")
    assert list(settings_of(user)[".qwen/settings.json"]["mcpServers"]) == ["memory"]
    assert len(hooks_of(user)) == 4
    table = '[[hooks]]\nevent = "PreCompact"\ncommand = "/old/memsite/hook.py kimi PreCompact"\n'
    user.write(".kimi-code/config.toml", table + table)
    user.run("install", "kimi")
    assert len(settings_of(user)[".kimi-code/config.toml"]["hooks"]) == 4


def test_a_kimi_file_that_was_made_goes_when_nothing_else_is_in_it(user: User) -> None:
    user.run("install", "kimi")
    path = user.home / ".kimi-code/config.toml"
    path.write_text(path.read_text() + "\n")
    user.run("uninstall", "kimi")
    assert not path.exists()


def test_a_copy_that_was_deleted_is_not_needed(user: User) -> None:
    before = prepare(user, "codex")
    user.run("install", "codex")
    for copy in user.home.rglob("*.bak"):
        copy.unlink()
    user.run("uninstall", "codex")
    assert user.files() == before


def test_every_harness_with_hooks_can_be_installed() -> None:
    assert set(HARNESSES) == set(NAMES)
