"""doctor looks at the database, its indexes and the model without making or changing anything."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from django.conf import settings
from django.db import DatabaseError, connection

from memories import embedders, lifecycle, listing
from memories.embedders import Description
from memories.models import Memory
from memsite.doctor import store
from memsite.doctor.finding import Finding

type Remembered = Callable[..., Memory]


@pytest.fixture
def _test_database(db: None, configure: Callable[..., None]) -> None:
    configure(db_path=Path(connection.settings_dict["NAME"]))


pytestmark = pytest.mark.usefixtures("_test_database")


def about(word: str) -> Finding:
    (found,) = [one for one in store.findings(settings.MEMORY) if word in one.what]
    return found


def test_a_sound_database_is_counted(remembered: Remembered) -> None:
    remembered("The parrot is green.")
    assert about("sound") == Finding("ok", about("sound").what)
    assert "1 memory" in about("sound").what


@pytest.mark.django_db(transaction=True)
def test_a_damaged_index_fails_with_its_cure(remembered: Remembered) -> None:
    remembered("The parrot is green.")
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM memories_fts_data WHERE id > 10")
        broken = about("memories_fts")
        cursor.execute("INSERT INTO memories_fts(memories_fts) VALUES ('rebuild')")
    assert (broken.level, broken.cure) == ("fail", "memory-mcp reindex")
    assert not [one for one in store.findings(settings.MEMORY) if one.level == "fail"]


@pytest.mark.django_db(transaction=True)
def test_an_older_database_is_a_warning() -> None:
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE kept AS SELECT * FROM django_migrations")
        cursor.execute("DELETE FROM django_migrations WHERE app = 'telemetry'")
        found = about("older version")
        cursor.execute("DELETE FROM django_migrations")
        cursor.execute("INSERT INTO django_migrations SELECT * FROM kept")
        cursor.execute("DROP TABLE kept")
    assert found.level == "warn"


def test_a_database_that_cannot_be_read_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> list[str]:
        raise DatabaseError("disk I/O error")

    monkeypatch.setattr(lifecycle, "problems", refuse)
    assert about("disk I/O error").level == "fail"


def test_memories_without_vectors_are_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = listing.VectorCounts(stored=1, pending=1234, foreign=34)
    stats = replace(listing.stats(), by_state={"live": 1235}, vectors=counts)
    monkeypatch.setattr(listing, "stats", lambda: stats)
    found = about("no vector")
    assert (found.level, found.cure) == ("warn", "memory-mcp backfill")
    assert "1,234" in found.what


@pytest.mark.parametrize(
    ("description", "level"),
    [
        (Description("minilm", "idle", "cpu", "all-MiniLM-L6-v2"), "ok"),
        (Description("x", "idle", "cpu", "x (uncalibrated)"), "warn"),
        (Description(), "ok"),
    ],
)
def test_the_model_and_its_calibration_are_named(
    monkeypatch: pytest.MonkeyPatch, description: Description, level: str
) -> None:
    monkeypatch.setattr(embedders, "describe", lambda: description)
    word = "calibrated" if description.name != "none" else "No embedding model"
    assert about(word).level == level


def test_a_model_that_cannot_be_read_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> Description:
        raise embedders.EmbeddingFailed("not a GGUF file")

    monkeypatch.setattr(embedders, "describe", refuse)
    assert about("not a GGUF file").level == "fail"
