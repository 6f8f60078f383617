"""doctor tests what is really configured: hooks are run as they stand in the settings."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from memsite.doctor import wires
from memsite.install import jsonc
from memsite.install.harnesses import HARNESSES
from tests.memsite.doctor.installed import Installed, line
from tests.memsite.user import User

pytestmark = pytest.mark.usefixtures("at_a_free_port")

type Configure = Callable[..., None]


@pytest.mark.parametrize("name", sorted(HARNESSES))
def test_the_hooks_of_every_program_are_run(user: User, installed: Installed, name: str) -> None:
    user.run("install", name)
    title = HARNESSES[name].title
    assert line(user.fails("doctor"), title, "slowest in").startswith("ok")
    installed.hook.write_text("raise SystemExit(2)")
    said = line(user.fails("doctor"), title, "exit code 2")
    assert said.startswith("fail")
    assert f"memory-mcp install {name}" in said


@pytest.mark.parametrize(
    ("script", "words"),
    [("print('hello')", "no JSON"), ("print('[1]')", "no JSON"), ("import time; time.sleep(60)", "does not end")],
)
def test_a_hook_that_misbehaves_fails(
    user: User, installed: Installed, monkeypatch: pytest.MonkeyPatch, script: str, words: str
) -> None:
    monkeypatch.setattr(wires, "PATIENCE_SECONDS", 1.0)
    user.run("install", "qwen")
    installed.hook.write_text(script)
    assert line(user.fails("doctor"), "Qwen Code", words).startswith("fail")


def test_a_slow_hook_is_a_warning(user: User, installed: Installed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wires, "BUDGET_SECONDS", 0.0)
    user.run("install", "qwen")
    assert line(user.fails("doctor"), "Qwen Code", "takes").startswith("warn")


def test_no_hook_starts_a_service_while_it_is_tested(user: User, installed: Installed, tmp_path: Path) -> None:
    user.run("install", "claude")
    installed.hook.write_text(
        f"import sys; open({str(tmp_path / 'seen')!r}, 'a').write(' '.join(sys.argv[1:]) + '\\n')"
    )
    user.fails("doctor")
    seen = (tmp_path / "seen").read_text()
    assert "claude SessionStart" in seen
    assert "--autostart" not in seen


def test_an_installation_that_went_away_is_noticed_in_the_settings(
    user: User, installed: Installed, moved: Callable[[str], None], tmp_path: Path
) -> None:
    for name in ("claude", "opencode"):
        user.run("install", name)
    Installed(tmp_path / "opt2", moved)
    said = user.fails("doctor")
    assert line(said, "Claude Code", "another installation").startswith("warn")
    installed.hook.unlink()
    said = user.fails("doctor")
    assert line(said, "Claude Code", "is gone").startswith("fail")
    assert line(said, "opencode", "is gone").startswith("fail")
    user.run("install", "claude", "opencode")
    assert "is gone" not in user.fails("doctor")


def test_twice_connected_and_half_connected_are_warnings(user: User, installed: Installed) -> None:
    user.run("install", "claude")
    user.run("install", "claude", "--project")
    said = user.fails("doctor")
    assert line(said, "Claude Code", "2 hooks for PreCompact").startswith("warn")
    assert line(said, "Claude Code", "2 MCP servers").startswith("warn")
    user.run("uninstall", "claude", "--project")
    assert "2 hooks" not in user.fails("doctor")
    path = user.home / ".claude/settings.json"
    path.write_text(jsonc.remove(path.read_text(), ("hooks", "PreCompact")))
    assert line(user.fails("doctor"), "Claude Code", "no hook for").startswith("warn")


def test_a_program_that_is_here_but_not_connected_and_one_that_lost_its_settings(
    user: User, installed: Installed
) -> None:
    (user.home / ".gemini").mkdir()
    user.run("install", "qwen")
    (user.home / ".qwen/settings.json").unlink()
    said = user.fails("doctor")
    assert line(said, "Gemini CLI", "not connected").startswith("ok")
    assert line(said, "Qwen Code", "nothing of it is left").startswith("fail")


def test_settings_that_cannot_be_read_fail(user: User, installed: Installed) -> None:
    user.write(".qwen/settings.json", "{ broken")
    assert line(user.fails("doctor"), "Qwen Code", "not valid JSON").startswith("fail")


def test_an_mcp_entry_for_another_port_fails(user: User, installed: Installed, configure: Configure) -> None:
    user.run("install", "qwen")
    configure(port=1)
    assert line(user.fails("doctor"), "Qwen Code", "MCP asks").startswith("fail")


def test_an_mcp_entry_without_a_token_fails_once_authentication_is_on(
    user: User, installed: Installed, configure: Configure
) -> None:
    user.run("install", "qwen")
    configure(token="secret")
    assert line(user.fails("doctor"), "Qwen Code", "sends no token").startswith("fail")
    user.run("install", "qwen")
    assert line(user.fails("doctor"), "Qwen Code", "MCP by HTTP").startswith("ok")


def test_stdio_without_a_service_is_told_to_capture_nothing(user: User, installed: Installed) -> None:
    user.run("install", "qwen", "--stdio")
    said = user.fails("doctor")
    assert line(said, "Qwen Code", "capture and inject nothing").startswith("fail")
    (installed.hook.parents[2] / "bin/memory-mcp").unlink()
    assert line(user.fails("doctor"), "MCP server", "is gone").startswith("fail")


def test_texts_that_wait_are_counted(user: User) -> None:
    user.write(".local/share/memory-mcp/memory.db.spool.jsonl", "{}\n{}\n")
    user.write(".local/share/memory-mcp/memory.db.spool.draining", "{}\n")
    assert line(user.fails("doctor"), "3 texts").startswith("warn")


def test_a_model_that_is_not_there_fails(user: User, configure: Configure) -> None:
    configure(model_path=user.home / "no.gguf")
    assert line(user.fails("doctor"), "no.gguf").startswith("fail")


@pytest.mark.django_db
def test_a_file_that_is_no_database_fails(user: User) -> None:
    path = user.write(".local/share/memory-mcp/memory.db", "not a database")
    assert line(user.fails("doctor"), str(path), "not a SQLite database").startswith("fail")
    assert path.read_text() == "not a database"


def test_programs_can_read_it(user: User, installed: Installed) -> None:
    user.run("install", "qwen")
    said = user.fails("doctor", "--json")
    found = json.loads(said[: said.rindex("}") + 1])
    assert found["ok"] is False
    assert {one["level"] for one in found["findings"]} >= {"ok", "fail"}
    assert all(one["cure"] for one in found["findings"] if one["level"] != "ok")


def test_doctor_leaves_nothing_behind(user: User) -> None:
    user.fails("doctor")
    assert not list(user.home.iterdir())


def test_hooks_by_hand_over_http_and_commands_that_no_shell_reads(user: User, installed: Installed) -> None:
    by_hand = {"type": "http", "url": "http://127.0.0.1:8765/hook/claude?event=PreCompact"}
    broken = {"type": "command", "command": "'memsite/hook.py claude SessionStart"}
    user.write(".claude/settings.json", json.dumps({"hooks": {"PreCompact": [{"hooks": [by_hand, broken]}]}}))
    said = user.fails("doctor")
    assert line(said, "cannot be read").startswith("fail")
    missing = line(said, "no hook for")
    assert "PreCompact" not in missing
    assert "SessionStart" not in missing


def test_opencode_without_or_with_two_plugins_is_a_warning(user: User, installed: Installed) -> None:
    user.run("install", "opencode")
    path = user.home / ".config/opencode/opencode.json"
    whole = json.loads(path.read_text())
    path.write_text(json.dumps({**whole, "plugin": [*whole["plugin"], "memsite-opencode"]}))
    assert line(user.fails("doctor"), "opencode", "2 plugins").startswith("warn")
    path.write_text(json.dumps({**whole, "plugin": []}))
    assert line(user.fails("doctor"), "opencode", "no plugin").startswith("warn")
    path.write_text(json.dumps({**whole, "plugins": [{"package": "memsite-opencode"}], "plugin": []}))
    assert "plugins of ours" not in user.fails("doctor")
