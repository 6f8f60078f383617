import pytest
from django.core.checks import Tags, run_checks
from django.core.management import call_command
from django.db import DatabaseError, connection

from memories import checks
from memories.search import sqlite

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _folder(configure, tmp_path):
    configure(db_path=tmp_path / "memory.db")


def ids():
    found = run_checks(tags=[Tags.database], databases=["default"])
    return [message.id for message in found if (message.id or "").startswith("memories.")]


def mounts(monkeypatch, text):
    read_text = checks.Path.read_text

    def fake(path, *args, **fields):
        return text if str(path) == "/proc/mounts" else read_text(path, *args, **fields)

    monkeypatch.setattr(checks.Path, "read_text", fake)


def test_a_sound_store_has_nothing_to_report():
    assert ids() == []
    call_command("check", databases=["default"], fail_level="WARNING")


def test_only_the_databases_that_are_asked_for_are_checked():
    assert checks.check_store() == []
    assert checks.check_store(databases=[]) == []


def test_the_connection_has_the_pragmas_that_durability_and_secrecy_need():
    assert sqlite.pragmas() == checks.WANTED


@pytest.mark.parametrize("trigger", ["memories_fts_ai", "memory_changes_au", "memories_auditentry_append_bd"])
def test_a_missing_trigger_is_an_error(trigger):
    with connection.cursor() as cursor:
        cursor.execute(f"DROP TRIGGER {trigger}")

    assert ids() == ["memories.E004"]


def test_a_database_that_is_not_migrated_yet_misses_nothing(monkeypatch):
    monkeypatch.setattr(sqlite, "TABLE", "other")

    class Cursor:
        def __enter__(self):
            return self

        def __exit__(self, *_args):
            return None

        def execute(self, _sql):
            return None

        def fetchall(self):
            return []

    monkeypatch.setattr(connection, "cursor", Cursor)
    assert checks._triggers("default") == []


@pytest.mark.parametrize(("name", "value"), [("journal_mode", "delete"), ("secure_delete", 0), ("foreign_keys", 0)])
def test_a_pragma_that_does_not_hold_is_an_error(monkeypatch, name, value):
    monkeypatch.setattr(sqlite, "pragmas", lambda: {**checks.WANTED, name: value})

    assert ids() == ["memories.E003"]


def test_a_database_that_cannot_be_opened_is_an_error(monkeypatch):
    def broken():
        raise DatabaseError("no")

    monkeypatch.setattr(sqlite, "pragmas", broken)
    assert ids() == ["memories.E002"]


def test_a_folder_that_cannot_be_written_is_an_error(configure, tmp_path):
    configure(db_path=tmp_path / "nowhere" / "memory.db")

    assert ids() == ["memories.E001"]


@pytest.mark.parametrize("kind", ["nfs4", "cifs", "9p"])
def test_a_network_file_system_is_warned_of(monkeypatch, tmp_path, kind):
    mounts(monkeypatch, f"/dev/sda / ext4 rw 0 0\nserver:/x {tmp_path} {kind} rw 0 0\nbroken\n")

    assert ids() == ["memories.W001"]


def test_the_nearest_mount_decides(monkeypatch, tmp_path):
    mounts(monkeypatch, f"server:/x {tmp_path.parent} nfs rw 0 0\n/dev/sda {tmp_path} ext4 rw 0 0\n")

    assert checks.file_system(tmp_path / "deep") == "ext4"
    assert ids() == []


def test_where_mounts_are_unknown_nothing_is_reported(monkeypatch, tmp_path):
    def broken(*_args, **_fields):
        raise FileNotFoundError

    monkeypatch.setattr(checks.Path, "read_text", broken)
    assert checks.file_system(tmp_path) == ""
    assert ids() == []
