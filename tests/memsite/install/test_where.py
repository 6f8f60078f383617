"""Which files of which folders install writes, and for which database and port."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.memsite.install.existing import every_harness, hooks_of, servers, settings_of
from tests.memsite.user import User


def test_files_in_a_folder_that_no_variable_names_any_more_are_found(
    user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CODEX_HOME", str(user.home / "other"))
    user.run("install", "codex")
    monkeypatch.delenv("CODEX_HOME")
    user.run("uninstall", "codex")
    assert not user.files()


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


@pytest.mark.parametrize("name", ["codex", "opencode", "claude", "copilot"])
def test_a_database_elsewhere_is_named_to_a_server_by_stdio(
    user: User, configure: Callable[..., None], name: str
) -> None:
    configure(db_path=user.home / "y.db")
    user.run("install", name, "--stdio")
    (server,) = servers(list(settings_of(user).values()))
    assert {**server.get("env", {}), **server.get("environment", {})} == {"MEMORY_DB_PATH": str(user.home / "y.db")}
