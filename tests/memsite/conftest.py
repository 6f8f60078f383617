import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mcpbridge import pool
from memories.errors import Unauthorized
from memories.principal import Principal
from memsite import guard
from memsite.access import OWNER, VISITOR
from memsite.install import wiring
from memsite.management.commands import install
from tests.memsite.hooks import Liar
from tests.memsite.user import VARIABLES, User


@pytest.fixture
def fresh_pool() -> Iterator[None]:
    """No thread of the pool outlives the test with a connection to its database."""
    pool.shutdown(5)
    yield
    assert pool.shutdown(5)


@pytest.fixture
def authentication(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str | None]]:
    """Authentication without a database: `Bearer good` or, while the list is empty-handed, anyone."""
    seen: list[str | None] = []

    def authenticate(authorization: str | None) -> Principal:
        seen.append(authorization)
        if authorization == "Bearer good":
            return OWNER
        if authorization == "Bearer bad":
            raise Unauthorized("No.")
        return VISITOR

    monkeypatch.setattr(guard, "authenticate", authenticate)
    yield seen
    pool.shutdown(5)


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, configure: Callable[..., None]) -> User:
    """In an empty project, with no agent program and no service."""
    home, project = tmp_path / "a b'c é", tmp_path / "project"
    for folder in (home, project):
        folder.mkdir()
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PATH", str(tmp_path / "programs"))
    monkeypatch.chdir(project)
    monkeypatch.setattr(install, "is_up", lambda: False)
    configure(db_path=home / ".local/share/memory-mcp/memory.db")
    return User(home, tmp_path / "programs")


@pytest.fixture
def moved(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """The installation is now in another folder, with another Python."""

    def move(folder: str) -> None:
        monkeypatch.setattr("sys.executable", f"{folder}/bin/python")
        monkeypatch.setattr(wiring, "HOOK", Path(folder) / "lib/memsite/hook.py")
        monkeypatch.setattr(wiring, "plugin_folder", lambda: Path(folder) / "lib/memsite/opencode_plugin")

    return move


@pytest.fixture
def lying() -> Iterator[Callable[[bytes | None], Liar]]:
    liars: list[tuple[Liar, threading.Thread]] = []

    def start(reply: bytes | None) -> Liar:
        liar = Liar(reply)
        thread = threading.Thread(target=liar.work)
        liars.append((liar, thread))
        thread.start()
        return liar

    yield start
    for liar, thread in liars:
        liar.end()
        thread.join(5)
