"""Copies of the store, and an index that is checked and made anew."""

import contextlib
import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest
from django.db import connection

from memories import lifecycle
from memories.errors import Rejected, StoreUnavailable
from memories.models import Memory
from memories.remember import Draft, remember
from memories.search import sqlite as sqlite_index
from tests.memories.conftest import found

pytestmark = pytest.mark.django_db


@pytest.mark.django_db(transaction=True)
def test_a_backup_is_a_whole_store_for_its_owner_only(remembered: Callable[..., Memory], tmp_path: Path) -> None:
    remembered("the parrot sleeps")
    target = tmp_path / "copy.db"

    assert lifecycle.backup(target) == target

    with contextlib.closing(sqlite3.connect(target)) as copy:
        assert copy.execute("SELECT content FROM memories_memory").fetchall() == [("the parrot sleeps",)]
        assert copy.execute("SELECT rowid FROM memories_fts WHERE memories_fts MATCH 'parrot'").fetchall()
        assert copy.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


@pytest.mark.django_db(transaction=True)
def test_a_copy_has_its_name_once_it_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "copy.db"

    def copied(path: Path) -> None:
        backup(path)
        assert path != target
        assert not target.exists()

    backup = sqlite_index.backup
    monkeypatch.setattr(sqlite_index, "backup", copied)
    lifecycle.backup(target)
    assert [path.name for path in tmp_path.iterdir()] == ["copy.db"]


def test_a_backup_overwrites_nothing(tmp_path: Path) -> None:
    target = tmp_path / "copy.db"
    target.write_text("precious")

    with pytest.raises(Rejected):
        lifecycle.backup(target)
    assert target.read_text() == "precious"


def test_a_backup_needs_a_folder(tmp_path: Path) -> None:
    with pytest.raises(Rejected):
        lifecycle.backup(tmp_path / "nowhere" / "copy.db")


def test_a_backup_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_target: Path) -> NoReturn:
        raise StoreUnavailable("no")

    monkeypatch.setattr("memories.search.sqlite.backup", broken)
    with pytest.raises(StoreUnavailable):
        lifecycle.backup(tmp_path / "copy.db")
    assert list(tmp_path.iterdir()) == []


def _run(*statements: str) -> None:
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


@pytest.mark.parametrize(
    "harm",
    [
        "DROP TRIGGER memories_fts_ai",
        "DROP TRIGGER memories_fts_tri_au",
        "DROP TABLE memories_fts",
        "DROP TABLE memories_fts_tri",
        "DELETE FROM memories_fts_data WHERE id > 100",
        "DELETE FROM memories_fts_data",
        "UPDATE memories_fts_tri_data SET block = x'00ff00ff' WHERE id > 100",
        "UPDATE memories_fts_data SET block = x'ffffffff' WHERE id = 10",
        "INSERT INTO memories_fts(memories_fts) VALUES ('delete-all')",
        "DELETE FROM memories_fts_config",
        "DELETE FROM memories_fts_docsize",
        "DROP TABLE memories_fts_tri_idx",
        "UPDATE memories_memory SET segments = ''",
    ],
)
def test_an_index_that_is_harmed_can_be_made_anew(remembered: Callable[..., Memory], harm: str) -> None:
    for number in range(20):
        remembered(f"the parrot number {number} sleeps 在鸟笼里")
    _run(harm)

    assert lifecycle.reindex() == Memory.objects.count()

    assert lifecycle.problems() == []
    assert len(found("parrot", limit=50)) == Memory.objects.count()
    assert len(found("鸟笼", limit=50)) == 20
    assert len(found("arro", limit=50)) == Memory.objects.count()
    assert remember(Draft(content="one more parrot")).status == "created"
    assert "one more parrot" in found("more parrot")


@pytest.mark.parametrize(
    "harm",
    [
        "DROP TRIGGER memories_fts_ai",
        "DROP TRIGGER memories_auditentry_append_bd",
        "DELETE FROM memories_fts_data WHERE id > 100",
        "UPDATE memories_fts_tri_data SET block = x'00ff00ff' WHERE id > 100",
        "INSERT INTO memories_fts(memories_fts) VALUES ('delete-all')",
    ],
)
def test_harm_is_reported(remembered: Callable[..., Memory], harm: str) -> None:
    remembered("the parrot sleeps")
    assert lifecycle.problems() == []

    _run(harm)

    assert lifecycle.problems()


def test_a_keyword_store_has_no_vectors_to_fill_in(remembered: Callable[..., Memory]) -> None:
    remembered("the parrot sleeps")

    assert lifecycle.backfill() == lifecycle.Backfilled()
