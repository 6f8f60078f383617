"""What install will not touch, and what it says then."""

import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from memsite.install import documents
from tests.memsite.install.existing import EXISTING, every_harness
from tests.memsite.user import User

type Moved = Callable[[str], None]


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


def test_a_server_in_another_form_of_toml_is_not_touched(user: User) -> None:
    text = 'mcp_servers = { docs = { url = "http://x/mcp" } }\n'
    path = user.write(".codex/config.toml", text)
    assert "[mcp_servers.memory]" in user.fails("install", "codex")
    assert path.read_text() == text


def test_an_unknown_name_is_one_sentence(user: User) -> None:
    assert "is not known" in user.fails("install", "clade")
    user.run("install", "claude-code")
    assert ".claude/settings.json" in user.files()


def test_servers_of_another_kind_stand_in_the_way(user: User) -> None:
    user.write(".qwen/settings.json", '{"mcpServers": []}')
    assert "mcpServers is not an object" in user.fails("install", "qwen")


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
