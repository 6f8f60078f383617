"""The service started at login, and what other processes need to know of this shell."""

import plistlib
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from memsite.env import load_env, read_env
from memsite.install import kept_settings, service
from memsite.install.places import Places
from tests.memsite.user import User

RECORDING = 'echo "$@" >> "$HOME/asked"'


@pytest.fixture(autouse=True)
def _on_linux(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "linux")


def unit_of(user: User) -> Path:
    return user.home / ".config/systemd/user/memory-mcp.service"


def test_a_systemd_unit_is_written_taken_up_and_removed(user: User) -> None:
    user.has("systemctl", RECORDING)
    said = user.run("install", "service")
    text = unit_of(user).read_text()
    assert "[Install]\nWantedBy=default.target" in text
    (command,) = [line for line in text.splitlines() if line.startswith("ExecStart=")]
    assert command.startswith('ExecStart="/')
    asked = (user.home / "asked").read_text()
    assert asked == "--user daemon-reload\n--user enable memory-mcp\n--user start memory-mcp\n"
    assert "not started" not in said
    assert "is right" in user.run("install", "service")
    user.run("uninstall", "service")
    assert (user.home / "asked").read_text().endswith("--user disable --now memory-mcp\n")
    assert not unit_of(user).parents[2].exists()


def test_a_running_service_is_not_started_twice(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    user.has("systemctl", RECORDING)
    monkeypatch.setattr("memsite.management.commands.install.is_up", lambda: True)
    user.run("install", "service")
    assert (user.home / "asked").read_text().endswith("--user try-restart memory-mcp\n")


def test_without_systemctl_one_line_says_so(user: User) -> None:
    assert "systemctl is not installed" in user.run("install", "service")
    assert unit_of(user).exists()


def test_what_systemctl_complains_about_is_told(user: User) -> None:
    user.has("systemctl", "echo Failed to connect to bus >&2; exit 1")
    assert "Failed to connect to bus" in user.run("install", "service")
    assert "Failed to connect to bus" in user.run("uninstall", "--all")
    assert not unit_of(user).exists()


def test_a_dry_run_shows_the_unit_and_asks_nobody(user: User) -> None:
    user.has("systemctl", RECORDING)
    assert "+ExecStart=" in user.run("install", "service", "--dry-run")
    assert not list(user.home.iterdir())
    user.run("install", "service")
    assert "-ExecStart=" in user.run("uninstall", "service", "--dry-run")
    assert unit_of(user).exists()


def test_a_unit_survives_odd_paths(user: User) -> None:
    found = service.unit(Places.of({}), ['/opt/a "b" $x %h\\y/memory-mcp'], platform="linux", log=Path("/log"))
    assert found
    assert 'ExecStart="/opt/a \\"b\\" $$x %%h\\\\y/memory-mcp"\n' in found.text


def test_a_launchd_agent_is_written_on_macos(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    user.has("launchctl", RECORDING)
    user.run("install", "service")
    path = user.home / "Library/LaunchAgents/local.memory-mcp.plist"
    agent = plistlib.loads(path.read_bytes())
    assert agent["RunAtLoad"] is True
    assert agent["ProgramArguments"][0].startswith("/")
    assert f"load -w {path}" in (user.home / "asked").read_text()
    user.run("uninstall", "service")
    assert not path.exists()


def test_another_system_is_one_sentence(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "freebsd14")
    assert "systemd nor launchd" in user.fails("install", "service")


def test_a_command_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "LONGEST_SECONDS", 0.1)
    assert "timed out" in service.run([["sleep", "30"]])


def test_settings_of_the_shell_are_kept_for_the_other_processes(
    user: User, monkeypatch: pytest.MonkeyPatch, configure: Callable[..., None]
) -> None:
    file = user.write(".config/memory-mcp/config.toml", "# mine\nfusion = 'rrf'\n")
    monkeypatch.setenv("MEMORY_DB_PATH", "~/x/y.db")
    monkeypatch.setenv("MEMORY_PORT", "9999")
    monkeypatch.setenv("MEMORY_TOKEN", "secret")
    monkeypatch.setenv("MEMORY_ALLOWED_HOSTS", "a,b")
    monkeypatch.setenv("MEMORY_FUSION", "score")
    configure(db_path=user.home / "x/y.db", port=9999, token="secret", allowed_hosts=("a", "b"), fusion="score")
    before = file.read_text()
    assert "port" in user.run("install", "kimi", "--dry-run")
    assert file.read_text() == before
    said = user.run("install", "kimi", "service")
    assert "MEMORY_FUSION" in said
    assert "put `token` into config.toml" in said
    kept = tomllib.loads(file.read_text())
    assert kept == {"fusion": "rrf", "db_path": str(user.home / "x/y.db"), "port": 9999, "allowed_hosts": ["a", "b"]}
    assert file.read_text().startswith("# mine\n")
    assert "Kept in" not in user.run("install", "kimi")


def test_a_project_keeps_its_settings_to_itself(
    user: User, monkeypatch: pytest.MonkeyPatch, configure: Callable[..., None]
) -> None:
    monkeypatch.setenv("MEMORY_PORT", "9999")
    configure(port=9999)
    user.run("install", "kimi", "--project")
    assert not (user.home / ".config").exists()


def test_what_was_kept_is_what_a_process_without_the_variables_reads(
    user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    variables = {"HOME": str(user.home), "DATABASE_URL": f"sqlite:///{user.home}/z.db", "MEMORY_SCHEDULER": "1"}
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    there = read_env()
    kept_settings.save(variables, kept_settings.unsaved(variables, there))
    monkeypatch.delenv("DATABASE_URL")
    assert read_env().database == there.database == user.home / "z.db"


def test_no_token_and_no_key_is_copied_from_the_shell_into_a_file(user: User) -> None:
    keys = {f"MEMORY_{name}": f"s3cret-{name}" for name in ("TOKEN", "EMBED_API_KEY", "JUDGE_API_KEY")}
    shell = {**keys, "MEMORY_JUDGE_MODEL": "m", "HOME": str(user.home)}
    assert kept_settings.unsaved(shell, load_env(shell)) == {"judge_model": "m"}
