"""A user with a home of their own, and the commands as they run them."""

import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from memsite.install import wiring
from memsite.management.commands import install

VARIABLES = ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "KIMI_CODE_HOME", "COPILOT_HOME", "XDG_CONFIG_HOME", "MEMORY_TOKEN")


@dataclass
class User:
    home: Path

    def run(self, *arguments: str) -> str:
        """What a command says; it must succeed."""
        out = io.StringIO()
        call_command(*arguments, stdout=out, stderr=out)
        return out.getvalue()

    def fails(self, *arguments: str) -> str:
        """What a command says that must not succeed."""
        out = io.StringIO()
        with pytest.raises(CommandError) as error:
            call_command(*arguments, stdout=out, stderr=out)
        return out.getvalue() + str(error.value)

    def files(self) -> dict[str, bytes]:
        """Every file of the home but our own record."""
        found = sorted(path for path in self.home.rglob("*") if path.is_file())
        return {str(path.relative_to(self.home)): path.read_bytes() for path in found if path.name != "install.json"}

    def write(self, name: str, text: str) -> Path:
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        return path


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, configure: Callable[..., None]) -> User:
    home = tmp_path / "a b'c é"
    project = tmp_path / "project"
    for folder in (home, project):
        folder.mkdir()
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PATH", str(tmp_path / "no-programs"))
    monkeypatch.chdir(project)
    monkeypatch.setattr(install, "is_up", lambda: False)
    configure(db_path=home / ".local/share/memory-mcp/memory.db")
    return User(home)


@pytest.fixture
def moved(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """The installation is now in another folder, with another Python."""

    def move(folder: str) -> None:
        monkeypatch.setattr("sys.executable", f"{folder}/bin/python")
        monkeypatch.setattr(wiring, "HOOK", Path(folder) / "lib/memsite/hook.py")
        monkeypatch.setattr(wiring, "plugin_folder", lambda: Path(folder) / "lib/memsite/opencode_plugin")

    return move
