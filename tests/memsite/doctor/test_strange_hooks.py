"""A folder's own settings may come from a stranger: what install did not write there is never run."""

import json
from pathlib import Path

import pytest

from memsite.doctor import wires
from memsite.install.wiring import HOOK
from tests.memsite.user import User

pytestmark = pytest.mark.usefixtures("at_a_free_port")


def strange(folder: Path) -> str:
    return f": > {folder}/ran; python {HOOK} claude UserPromptSubmit"


def settings(command: str) -> str:
    return json.dumps({"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": command}]}]}})


def said_of(name: str, said: str) -> str:
    return "\n".join(line for line in said.splitlines() if name in line)


def test_a_hook_of_a_clone_is_not_run_and_told(user: User, tmp_path: Path) -> None:
    path = Path.cwd() / ".claude/settings.json"
    path.parent.mkdir()
    path.write_text(settings(strange(tmp_path)))
    assert "were not run (1)" in said_of("Claude Code", user.fails("doctor"))
    assert not (tmp_path / "ran").exists()


def test_the_same_hook_in_the_settings_of_the_user_is_run(user: User, tmp_path: Path) -> None:
    user.write(".claude/settings.json", settings(strange(tmp_path)))
    assert "were not run" not in user.fails("doctor")
    assert (tmp_path / "ran").exists()


def test_the_plugin_of_a_clone_is_not_run(user: User, tmp_path: Path) -> None:
    script = user.has("evil", f": > {tmp_path}/ran")
    plugin = ["memsite-opencode", {"hook": [str(script), str(HOOK)]}]
    (Path.cwd() / "opencode.json").write_text(json.dumps({"plugin": [plugin]}))
    assert "were not run" in said_of("opencode", user.fails("doctor"))
    assert not (tmp_path / "ran").exists()


def test_what_install_wrote_into_a_folder_is_run(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wires, "BUDGET_SECONDS", 60.0)
    user.run("install", "claude", "opencode", "--project")
    said = user.fails("doctor")
    assert "were not run" not in said
    assert "slowest in" in said_of("Claude Code", said)
    assert "slowest in" in said_of("opencode", said)
