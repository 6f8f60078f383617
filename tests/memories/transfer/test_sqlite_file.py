"""The SQLite files of other memory servers."""

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from memories.errors import Rejected
from memories.models import Memory
from tests.memories.transfer.conftest import brought, from_path

pytestmark = pytest.mark.django_db


@pytest.fixture
def other(tmp_path: Path) -> Callable[..., Path]:
    """The file of another memory server."""

    def make(*statements: str, journal: str = "delete") -> Path:
        path = tmp_path / "other server.db"
        with sqlite3.connect(path) as database:
            database.execute(f"PRAGMA journal_mode={journal}")
            for statement in statements:
                database.execute(statement)
        database.close()
        return path

    return make


TABLE = """
CREATE TABLE memories (id TEXT, content TEXT, memory_type TEXT, tags TEXT, project TEXT, created_at, embedding BLOB,
                       metadata TEXT, deleted_at REAL, superseded_by TEXT)
"""
ROWS = [
    f"INSERT INTO memories VALUES {values}"
    for values in (
        """('1', 'Ada prefers tea', 'preference', '["a", "b"]', 'acme/shop', '2025-01-02 03:04:05', x'00',
            '{"session_id": "s1"}', NULL, NULL)""",
        "('2', 'Deploys run on Fridays', 'insight', 'x, y', NULL, 1735787045.5, NULL, NULL, NULL, NULL)",
        "('3', 'gone', 'fact', '', '', 0, NULL, NULL, 5.5, NULL)",
        "('4', 'replaced', 'fact', '', '', 0, NULL, NULL, NULL, '1')",
        "('5', NULL, 'fact', '', '', 0, NULL, NULL, NULL, NULL)",
        "('6', x'ff', 'fact', '', '', 0, NULL, NULL, NULL, NULL)",
        "('7', CAST(x'41ff' AS TEXT), 'fact', '', '', 0, NULL, NULL, NULL, NULL)",
    )
]


@pytest.mark.parametrize("journal", ["delete", "wal"])
@pytest.mark.parametrize("how", ["path", "upload"])
def test_another_servers_file_is_mapped_as_far_as_it_is_recognised(
    db: None, other: Callable[..., Path], journal: str, how: str
) -> None:
    path = other(
        TABLE,
        *ROWS,
        "CREATE TABLE memory_history (id, content, tags)",
        "INSERT INTO memory_history VALUES (1, 'an old text', '')",
        "CREATE TABLE edges (a, b)", "INSERT INTO edges VALUES (1, 2)",
        "CREATE VIRTUAL TABLE memories_fts USING fts5(content)", journal=journal,
    )  # fmt: skip
    before = path.read_bytes()

    report = from_path(path) if how == "path" else brought(before)

    assert (report.format, report.counts) == ("sqlite", {"created": 2, "bad": 3})
    assert [flaw.place for flaw in report.flaws] == [f"memories, row {number}" for number in (5, 6, 7)]
    ada, deploys = Memory.objects.order_by("content")
    assert (ada.kind, ada.tags, ada.project, ada.session) == ("preference", ["a", "b"], "acme/shop", "s1")
    assert ada.valid_from.isoformat() == "2025-01-02T03:04:05+00:00"
    assert (deploys.kind, deploys.tags, deploys.project) == ("fact", ["x", "y", "insight"], "")
    assert deploys.valid_from.isoformat() == "2025-01-02T03:04:05.500000+00:00"
    told = " ".join(report.remarks)
    assert "embedding" in told
    assert "edges was left out (1 rows)" in told
    assert path.read_bytes() == before
    assert [one.name for one in path.parent.iterdir()] == [path.name], "nothing appears beside it"


def test_a_file_in_use_is_read_with_what_is_only_in_its_log(db: None, other: Callable[..., Path]) -> None:
    path = other(TABLE, journal="wal")
    with sqlite3.connect(path) as writer:
        writer.execute(ROWS[0])
        writer.commit()
        assert from_path(path).counts == {"created": 1}
    writer.close()


def test_a_locked_file_is_told_in_one_sentence(
    db: None, other: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    from memories.transfer.readers import sqlite_file

    monkeypatch.setattr(sqlite_file, "PATIENCE_SECONDS", 0.05)
    path = other(TABLE, ROWS[0])
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("BEGIN EXCLUSIVE")
    with pytest.raises(Rejected, match="locked"):
        from_path(path)
    writer.close()


def test_a_damaged_file_is_told_in_one_sentence(db: None, other: Callable[..., Path]) -> None:
    path = other(TABLE, ROWS[0])
    path.write_bytes(path.read_bytes()[:100] + os.urandom(9000))
    with pytest.raises(Rejected):
        from_path(path)


def test_a_database_of_this_service_or_without_memories_is_refused(db: None, other: Callable[..., Path]) -> None:
    path = other("CREATE TABLE users (id, name)")
    with pytest.raises(Rejected, match="No table"):
        from_path(path)
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE django_migrations (id)")
        database.execute("CREATE TABLE memories_memory (id, content)")
    database.close()
    with pytest.raises(Rejected, match="export"):
        from_path(path)
