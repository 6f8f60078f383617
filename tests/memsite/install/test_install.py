"""Installing, again, from elsewhere, and taking it out: whatever others wrote stays to the byte."""

import json
import os
import stat
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memsite.harnesses import NAMES
from memsite.install import changes, documents, jsonc, manifest, ours
from memsite.install.harnesses import HARNESSES
from memsite.install.places import Places
from tests.memsite.user import User

type Moved = Callable[[str], None]

CLAUDE_SETTINGS = """{
  // the team's
  "permissions": {"allow": ["Bash(ls:*)"]},
  "hooks": {
    "PostToolUse": [
      {"matcher": "Edit", "hooks": [{"type": "command", "command": "prettier --write"}]}, // keep
    ],
    "Stop": [{"hooks": [{"type": "command", "command": "python3 /home/me/hook.py claude Stop"}]}],
  },
}
"""
CLAUDE_STATE = (
    '{\n  "numStartups": 7,\n  "mcpServers": {\n    "memory": {"command": "npx", "args": ["server-memory"]}\n  }\n}'
)
CODEX_HOOKS = '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say done"}]}]}}\r\n'
CODEX_CONFIG = """model = "gpt-5"   # mine

[mcp_servers.docs]
url = "http://localhost:3000/mcp"

[hooks.state."/home/me/.codex/hooks.json:stop:0:0"]
trusted_hash = "sha256:00"
"""
KIMI_CONFIG = 'default_model = "k2"\r\n\r\n[[hooks]]\r\nevent = "Stop"\r\ncommand = "say \\"done\\""'
OPENCODE_CONFIG = """\ufeff{
\t"$schema": "https://opencode.ai/config.json",
\t// plugins
\t"plugin": ["some-plugin", ["file:///home/me/opencode-plugin", {"x": 1}],],
\t"mcp": {
\t\t"docs": {"type": "remote", "url": "http://localhost:3000/mcp"}, /* the docs */
\t}
}
"""
GEMINI_SETTINGS = '{\n    "theme": "Default",\n    "mcpServers": {"docs": {"httpUrl": "http://x/mcp"}}\n}\n'

EXISTING = {
    "claude": {".claude/settings.json": CLAUDE_SETTINGS, ".claude.json": CLAUDE_STATE},
    "codex": {".codex/hooks.json": CODEX_HOOKS, ".codex/config.toml": CODEX_CONFIG},
    "copilot": {".copilot/mcp-config.json": '{"mcpServers": {"docs": {"type": "http", "url": "http://x/mcp"}}}'},
    "cursor": {
        ".cursor/hooks.json": '{"version": 1, "hooks": {"stop": [{"command": "./x.sh"}]}}',
        ".cursor/mcp.json": "",
    },
    "gemini": {".gemini/settings.json": GEMINI_SETTINGS},
    "kimi": {".kimi-code/config.toml": KIMI_CONFIG, ".kimi-code/mcp.json": "{}"},
    "opencode": {".config/opencode/opencode.jsonc": OPENCODE_CONFIG},
    "qwen": {".qwen/settings.json": '{"$version": 2,\n "ui": {"theme": "x"}}'},
}
PROMPT_EVENTS = {"gemini": "BeforeAgent", "copilot": "userPromptSubmitted", "cursor": "beforeSubmitPrompt"}

every_harness = pytest.mark.parametrize("name", sorted(HARNESSES))


def parsed(content: bytes) -> Any:
    text = content.decode()
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return jsonc.loads(text)


def settings_of(user: User) -> dict[str, Any]:
    return {name: parsed(content) for name, content in user.files().items() if not name.endswith(".bak")}


def servers(value: Any) -> list[Any]:
    """Every MCP server of ours, however deep."""
    if ours.is_server(value, frozenset()):
        return [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [one for part in parts for one in servers(part)]


def plugins(value: Any) -> list[Any]:
    return [one for one in value.get("plugin", []) if ours.is_plugin(one)]


def hooks_of(user: User) -> list[str]:
    return [command for data in settings_of(user).values() for command in ours.hook_commands(data)]


def prepare(user: User, name: str) -> dict[str, bytes]:
    for file, text in EXISTING[name].items():
        user.write(file, text)
    return user.files()


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


@every_harness
@pytest.mark.parametrize("text", ["{ this is not", "= [broken\n"])
def test_what_cannot_be_read_is_left_alone_and_the_snippet_shown(user: User, name: str, text: str) -> None:
    for file in EXISTING[name]:
        user.write(file, text)
    before = user.files()
    said = user.fails("install", name)
    assert user.files() == before
    assert "was not changed" in said
    assert "memsite/hook.py" in said or "8765/mcp" in said
    user.fails("uninstall", name)
    assert user.files() == before


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


def test_a_read_only_file_is_refused_in_one_sentence(user: User) -> None:
    path = user.write(".claude/settings.json", "{}")
    path.chmod(0o444)
    said = user.fails("install", "claude")
    assert f"{path} is read-only and was not changed." in said
    assert path.read_text() == "{}"
    assert not (user.home / ".claude.json").exists(), "all or nothing for one program"


def test_a_folder_that_cannot_be_written_is_one_sentence(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    path = user.write(".claude/settings.json", "{}")

    make = tempfile.mkstemp

    def refuse(*, dir: Path, prefix: str) -> tuple[int, str]:  # noqa: A002 - as the original names it
        if dir == path.parent:
            raise PermissionError(13, "Permission denied")
        return make(dir=dir, prefix=prefix)

    monkeypatch.setattr("tempfile.mkstemp", refuse)
    assert f"{path} was not changed: no copy can be made beside it (Permission denied)." in user.fails(
        "install", "claude"
    )
    path.unlink()
    assert f"{path} cannot be written: Permission denied." in user.fails("install", "claude")
    assert not path.exists()


def test_a_file_that_changes_meanwhile_is_not_overwritten(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    path = user.write(".claude/settings.json", "{}")

    def change(document: object, **_: object) -> Path:
        path.write_text('{"new": 1}')
        return path

    monkeypatch.setattr(documents, "back_up", change)
    assert "just changed by another program" in user.fails("install", "claude")
    assert path.read_text() == '{"new": 1}'


def test_files_in_a_folder_that_no_variable_names_any_more_are_found(
    user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CODEX_HOME", str(user.home / "other"))
    user.run("install", "codex")
    monkeypatch.delenv("CODEX_HOME")
    user.run("uninstall", "codex")
    assert not user.files()


def test_an_environment_of_uvx_is_warned_about(user: User, moved: Moved) -> None:
    moved("/home/me/.cache/uv/archive-v0/abc")
    assert "is temporary" in user.run("install", "kimi")


@pytest.mark.parametrize("content", [b"\xff\xfe{}", b""])
def test_what_is_no_text_is_refused_and_what_is_empty_is_not(user: User, content: bytes) -> None:
    path = user.write(".qwen/settings.json", "")
    path.write_bytes(content)
    if content:
        assert "not UTF-8" in user.fails("install", "qwen")
    else:
        user.run("install", "qwen")
        user.run("uninstall", "qwen")
    assert path.read_bytes() == content


def test_a_folder_in_the_place_of_a_file_is_refused(user: User) -> None:
    (user.home / ".qwen/settings.json").mkdir(parents=True)
    assert "is not a file" in user.fails("install", "qwen")


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


def test_a_server_in_another_form_of_toml_is_not_touched(user: User) -> None:
    text = 'mcp_servers = { docs = { url = "http://x/mcp" } }\n'
    path = user.write(".codex/config.toml", text)
    assert "[mcp_servers.memory]" in user.fails("install", "codex")
    assert path.read_text() == text


@pytest.mark.parametrize(
    ("variable", "name", "file"),
    [
        ("CLAUDE_CONFIG_DIR", "claude", "settings.json"),
        ("CLAUDE_CONFIG_DIR", "claude", ".claude.json"),
        ("CODEX_HOME", "codex", "hooks.json"),
        ("KIMI_CODE_HOME", "kimi", "mcp.json"),
        ("COPILOT_HOME", "copilot", "mcp-config.json"),
        ("XDG_CONFIG_HOME", "opencode", "opencode/opencode.json"),
    ],
)
def test_folders_that_variables_name_are_used(
    user: User, monkeypatch: pytest.MonkeyPatch, variable: str, name: str, file: str
) -> None:
    monkeypatch.setenv(variable, "~/else where")
    user.run("install", name)
    assert f"else where/{file}" in user.files()
    assert all(path.startswith("else where/") for path in user.files())


def test_all_means_the_programs_that_are_there(user: User) -> None:
    assert "none was found" in user.fails("install", "--all")
    (user.home / ".gemini").mkdir()
    user.has("kimi")
    user.run("install", "--all")
    assert {name.split("/")[0] for name in user.files()} == {".gemini", ".kimi-code"}
    user.run("uninstall", "--all")
    assert not user.files()


@every_harness
def test_a_project_has_its_own_files(user: User, name: str) -> None:
    said = user.run("install", name, "--project")
    here = sorted(str(path.relative_to(Path.cwd())) for path in Path.cwd().rglob("*") if path.is_file())
    expected = {
        "claude": [".claude/settings.json", ".mcp.json"],
        "codex": [".codex/config.toml", ".codex/hooks.json"],
        "copilot": [".github/hooks/memory.json", ".mcp.json"],
        "cursor": [".cursor/hooks.json", ".cursor/mcp.json"],
        "gemini": [".gemini/settings.json"],
        "kimi": [".kimi-code/mcp.json"],
        "opencode": [".opencode/opencode.json"],
        "qwen": [".qwen/settings.json"],
    }
    assert here == expected[name]
    assert "better not commit" in said
    assert not user.files()
    user.run("uninstall", "--all")
    assert not list(Path.cwd().iterdir())


def test_an_unknown_name_is_one_sentence(user: User) -> None:
    assert "is not known" in user.fails("install", "clade")
    user.run("install", "claude-code")
    assert ".claude/settings.json" in user.files()


def test_a_database_elsewhere_is_told_to_every_part(user: User, configure: Callable[..., None]) -> None:
    configure(db_path=user.home / "x" / "y.db", port=9999)
    user.run("install", "claude")
    assert all("--discovery" in command and "y.db.server.json" in command for command in hooks_of(user))
    assert settings_of(user)[".claude.json"]["mcpServers"]["memory"]["url"] == "http://127.0.0.1:9999/mcp"
    user.run("install", "claude", "--stdio")
    assert settings_of(user)[".claude.json"]["mcpServers"]["memory"]["env"] == {
        "MEMORY_DB_PATH": str(user.home / "x/y.db")
    }
    configure(db_path=user.home / ".local/share/memory-mcp/memory.db", port=8765)
    user.run("install", "claude")
    assert not any("--discovery" in command for command in hooks_of(user))
    assert len(settings_of(user)[".claude.json"]["mcpServers"]) == 1


def test_without_a_fixed_port_mcp_is_set_up_by_stdio(user: User, configure: Callable[..., None]) -> None:
    configure(port=0)
    assert "MEMORY_PORT=0" in user.run("install", "kimi")
    assert "command" in settings_of(user)[".kimi-code/mcp.json"]["mcpServers"]["memory"]


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


def test_servers_of_another_kind_stand_in_the_way(user: User) -> None:
    user.write(".qwen/settings.json", '{"mcpServers": []}')
    assert "mcpServers is not an object" in user.fails("install", "qwen")


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


@pytest.mark.parametrize("name", ["codex", "opencode", "claude", "copilot"])
def test_a_database_elsewhere_is_named_to_a_server_by_stdio(
    user: User, configure: Callable[..., None], name: str
) -> None:
    configure(db_path=user.home / "y.db")
    user.run("install", name, "--stdio")
    (server,) = servers(list(settings_of(user).values()))
    assert {**server.get("env", {}), **server.get("environment", {})} == {"MEMORY_DB_PATH": str(user.home / "y.db")}


def test_a_file_that_is_too_large_or_closed_is_refused(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    user.write(".qwen/settings.json", "{}  ")
    monkeypatch.setattr(documents, "LARGEST", 3)
    assert "larger than" in user.fails("install", "qwen")
    (user.home / ".qwen/settings.json").unlink()
    (user.home / ".qwen").rmdir()
    user.write(".qwen", "a file")
    assert "cannot be read" in user.fails("install", "qwen")


def test_an_installation_at_a_path_that_is_no_text_is_refused(user: User, moved: Moved) -> None:
    moved("/opt/\udcff")
    assert "not UTF-8" in user.fails("install", "claude")
    assert not user.files()


def test_uninstall_needs_to_know_what(user: User) -> None:
    assert "--all" in user.fails("uninstall")
    user.run("install", "claude", "--project")
    user.run("uninstall", "--all", "--project")
    assert not list(Path.cwd().iterdir())


def test_every_harness_with_hooks_can_be_installed() -> None:
    assert set(HARNESSES) == set(NAMES)


@every_harness
def test_an_install_that_was_killed_is_taken_out_to_the_byte(
    user: User, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = prepare(user, name)

    def killed(change: changes.Change) -> None:
        documents.replace(change.document, change.after)
        os._exit(9)

    with monkeypatch.context() as patched:
        patched.setattr(changes, "make", killed)
        child = os.fork()
        if not child:
            user.run("install", name)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    assert user.files() != before
    user.run("uninstall", name)
    assert user.files() == before


def test_two_installs_at_once_are_both_on_record(user: User) -> None:
    names = ("claude", "codex", "kimi", "gemini")
    environment = {"HOME": str(user.home), "PATH": str(user.programs)}
    command = [sys.executable, "-m", "memsite.cli", "install"]
    running = [subprocess.Popen([*command, name], env=environment, stdout=subprocess.DEVNULL) for name in names]
    assert [one.wait() for one in running] == [0, 0, 0, 0]
    known = manifest.load(Places.of(environment))
    assert sorted(target.name for target in known.targets) == sorted(names)
    assert {one.target for one in known.files.values()} == set(names)


def test_a_home_that_cannot_be_written_is_one_sentence(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(30, "Read-only file system", "/home/me/.local")

    monkeypatch.setattr("tempfile.mkstemp", refuse)
    monkeypatch.setattr(Path, "mkdir", refuse)
    assert "Read-only file system" in user.fails("install", "claude")
    user.run("uninstall", "claude")
    monkeypatch.setenv("MEMORY_PORT", "9000")
    assert "config.toml cannot be written: Read-only file system" in user.fails("install", "claude")
    assert not user.files()
