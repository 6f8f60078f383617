"""A purge keeps what has expired in a file, before anything is removed."""

import errno
import os
import stat
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from memories import lifecycle
from memories.errors import MemoriesError, Rejected, StoreUnavailable
from memories.models import Memory
from memsite import maintenance
from tests.memories.conftest import found
from tests.memories.transfer.conftest import from_path

pytestmark = pytest.mark.django_db(transaction=True)
type Remembered = Callable[..., Memory]
NOON = "2026-03-29T12:00:00+00:00"
LATER = "2026-09-29T12:00:00+00:00"


@pytest.fixture
def mixed(remembered: Remembered, freeze: Callable[[str], datetime]) -> None:
    """One that lives, one forgotten, one forgotten and expired, an expired note and an outlived artifact."""
    freeze(NOON)
    remembered("it lives")
    for text, ttl in (("forgotten", None), ("forgotten and expired", 60)):
        lifecycle.forget(remembered(text, ttl_seconds=ttl).uid, actor="ada")
    remembered("the expired parrot", ttl_seconds=60, tags=["zoo"])
    remembered("the outlived artifact", kind="artifact")
    freeze(LATER)


def test_what_has_expired_is_kept_and_what_was_forgotten_is_not(mixed: None, tmp_path: Path) -> None:
    file = tmp_path / "old.jsonl"

    purged = maintenance.purge(actor="ada", archive=file)

    assert (purged.forgotten, purged.expired) == (2, 2)
    text = file.read_text(encoding="utf-8")
    assert "parrot" in text
    assert "artifact" in text
    assert "forgotten" not in text
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_import_brings_it_back_for_a_new_term(mixed: None, tmp_path: Path) -> None:
    file = tmp_path / "old.jsonl"
    maintenance.purge(actor="ada", archive=file)
    assert found("parrot") == []

    assert from_path(file).counts == {"created": 2}
    assert from_path(file).counts == {"unchanged": 2}

    assert found("expired parrot") == ["the expired parrot"]
    assert found("outlived artifact") == ["the outlived artifact"]
    parrot = Memory.objects.get(content__contains="parrot")
    assert (parrot.expires_at, parrot.tier, parrot.tags) == (None, "episodic", ["zoo"])
    assert maintenance.purge(actor="ada").expired == 0


def test_the_next_purge_appends_also_to_a_line_that_was_cut_off(
    mixed: None, remembered: Remembered, freeze: Callable[[str], datetime], tmp_path: Path
) -> None:
    file = tmp_path / "old.jsonl"
    maintenance.purge(actor="ada", archive=file)
    with file.open("ab") as cut:
        cut.write(b'{"type": "mem')
    remembered("a second parrot", ttl_seconds=60)
    freeze("2026-09-30T12:00:00+00:00")

    maintenance.purge(actor="ada", archive=file)

    report = from_path(file)
    assert report.counts == {"created": 3, "bad": 1}
    assert report.flaws[0].place == "line 4"


def test_a_failed_write_stops_the_purge(mixed: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "old.jsonl"

    def full(_handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreUnavailable, match="No space"):
        maintenance.purge(actor="ada", archive=file)

    assert Memory.objects.count() == 5
    assert file.read_bytes() == b""


@pytest.mark.parametrize("what", ["folder", "other file", "link", "pipe", "no place"])
def test_what_is_no_archive_is_left_alone_and_nothing_is_removed(mixed: None, tmp_path: Path, what: str) -> None:
    file = tmp_path / "there"
    if what == "folder":
        file.mkdir()
    elif what == "other file":
        file.write_text("precious\n", encoding="utf-8")
    elif what == "link":
        file.symlink_to(tmp_path / "elsewhere")
    elif what == "pipe":
        os.mkfifo(file)
    else:
        file = tmp_path / "missing/file"

    with pytest.raises(MemoriesError) as error:
        maintenance.purge(actor="ada", archive=file)

    assert isinstance(error.value, Rejected)
    assert Memory.objects.count() == 5
    assert what != "other file" or file.read_text(encoding="utf-8") == "precious\n"
    assert not (tmp_path / "elsewhere").exists()
