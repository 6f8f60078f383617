"""Fixtures of every test: what is remembered, which settings hold, what time it is, and whose home it is."""

import shutil
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from django.conf import settings
from django.db import connections
from django.db.backends.sqlite3.operations import DatabaseOperations

from memories import clock
from memories.models import Memory
from memories.remember import Draft, remember
from memories.search import sqlite
from tests.service import Home

hypothesis.settings.register_profile("unhurried", deadline=None)  # a busy machine is no fault
hypothesis.settings.load_profile("unhurried")

APPEND_ONLY = {name: body for name, body in sqlite.triggers().items() if "_append_" in name}


@pytest.fixture(autouse=True, scope="session")
def _flush_reaches_append_only_tables() -> Iterator[None]:
    """Django empties every table after a transactional test; the audit trail would refuse."""
    flush = DatabaseOperations.execute_sql_flush

    def flush_all(self: DatabaseOperations, sql_list: list[str]) -> None:
        connection = connections["default"]
        with connection.cursor() as cursor:
            for name in APPEND_ONLY:
                cursor.execute(f"DROP TRIGGER IF EXISTS {name}")
        flush(self, sql_list)
        with connection.cursor() as cursor:
            cursor.execute("DELETE FROM memory_changes")
            for name, body in APPEND_ONLY.items():
                cursor.execute(f"CREATE TRIGGER {name} {body}")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DatabaseOperations, "execute_sql_flush", flush_all)
        yield


@pytest.fixture
def configure(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Change fields of settings.MEMORY for one test."""

    def change(**fields: Any) -> None:
        monkeypatch.setattr(settings, "MEMORY", settings.MEMORY.model_copy(update=fields))

    return change


@pytest.fixture
def freeze(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], datetime]:
    """Stop the clock of the domain at a moment in ISO 8601."""

    def stop(moment: str) -> datetime:
        now = datetime.fromisoformat(moment)
        assert now.tzinfo, "name the offset"
        monkeypatch.setattr(clock, "now", lambda: now)
        return now

    return stop


@pytest.fixture
def remembered(db: None) -> Callable[..., Memory]:
    """Store a text as every interface does, and get the row."""

    def store(content: str, **fields: Any) -> Memory:
        uid = remember(Draft(content=content, **fields)).uid
        assert uid, "the text was skipped"
        return Memory.objects.get(uid=uid)

    return store


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    """Where the real service is started, and ended."""
    home = Home(tmp_path)
    yield home
    home.end()


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a store that was started before: migrating takes a second."""
    home = Home(tmp_path_factory.mktemp("prepared"))
    assert home.run("token", "list").returncode == 0
    return home.data


@pytest.fixture
def settled(home: Home, prepared: Path) -> None:
    """This is not the first start."""
    shutil.copytree(prepared, home.data)
