"""The commands on the store, as a terminal runs them."""

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from memories.errors import NotFound, Rejected
from memories.models import Conflict, Memory
from memories.truth import conflicts
from memsite.management import store_command

type Remembered = Callable[..., Memory]
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _store_is_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_command, "prepare_store", lambda: None)


def run(*arguments: str, **options: object) -> str:
    out = io.StringIO()
    call_command(*arguments, stdout=out, **options)
    return out.getvalue()


def test_forget_takes_uids_and_restore_brings_them_back(remembered: Remembered):
    uid = remembered("The parrot is green.").uid
    assert uid in run("forget", uid, "--dry-run")
    assert Memory.objects.live().filter(uid=uid).exists()
    assert uid in run("forget", uid)
    assert not Memory.objects.live().filter(uid=uid).exists()
    assert uid in run("restore", uid, "--dry-run")
    assert uid in run("restore", uid)
    assert Memory.objects.live().filter(uid=uid).exists()
    assert "no forgotten memory" in run("restore", uid, "--dry-run")


def test_forget_with_its_chain(remembered: Remembered):
    old = remembered("We deploy on Mondays.")
    new = remembered("We deploy on Fridays.", supersedes=[old.uid])
    assert "(2)" in run("forget", new.uid, "--chain", "--dry-run")
    assert old.uid in run("forget", new.uid, "--chain")


def test_forget_takes_what_matches_every_filter(remembered: Remembered):
    remembered("one", project="acme/shop", tags=["a"])
    remembered("two", project="acme/shop")
    remembered("three", project="acme/other", tags=["a"])
    assert "1 memory" in run("forget", "--project", "acme/shop", "--tag", "a", "--dry-run")
    run("forget", "--project", "acme/shop", "--tag", "a")
    assert sorted(Memory.objects.live().values_list("content", flat=True)) == ["three", "two"]


def test_forget_needs_to_know_what(remembered: Remembered):
    uid = remembered("one").uid
    with pytest.raises(Rejected):
        run("forget")
    with pytest.raises(CommandError):
        run("forget", uid, "--project", "acme/shop")
    with pytest.raises(NotFound):
        run("forget", "0" * 32)
    assert Memory.objects.live().count() == 1


def test_recall_answers_at_the_terminal(remembered: Remembered):
    uid = remembered("The parrot is green.", project="acme/shop").uid
    assert uid in run("recall", "parrot", "--project", "*")
    assert "Nothing relevant" in run("recall", "thanks")


def test_backfill_without_a_model_says_what_to_set():
    assert "MEMORY_MODEL_PATH" in run("backfill")


@pytest.mark.django_db(transaction=True)
def test_purge_removes_what_was_forgotten(remembered: Remembered):
    run("forget", remembered("The parrot is green.").uid)
    assert "Would remove 1 forgotten" in run("purge", "--dry-run")
    said = run("purge")
    assert "Removed 1 forgotten" in said
    assert "scrubbed: true" in said
    assert not Memory.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_reindex_reports_what_is_wrong_and_mends_it(remembered: Remembered):
    remembered("The parrot is green.")
    with connection.cursor() as cursor:
        cursor.execute("DROP TRIGGER memories_fts_ai")
    with pytest.raises(CommandError, match="memories_fts_ai"):
        run("reindex", "--check")
    assert "sound" in run("reindex")
    assert "sound" in run("reindex", "--check")


@pytest.mark.django_db(transaction=True)
def test_backup_copies_to_a_new_file_only(remembered: Remembered, tmp_path: Path):
    remembered("The parrot is green.")
    target = tmp_path / "copy.db"
    assert str(target) in run("backup", str(target))
    with pytest.raises(Rejected):
        run("backup", str(target))


def test_consolidate_shows_its_plan_does_it_and_takes_it_back(remembered: Remembered):
    uids = [
        remembered(text).uid
        for text in ("The deploy runs from the release branch.", "Deploy: runs from the release branch as usual.")
    ]
    planned = run("consolidate", "--dry-run")
    assert "Would make 1 of 2 memories" in planned
    assert all(uid in planned for uid in uids)
    assert Memory.objects.live().count() == 2
    done = run("consolidate", "--scope", "default", "--project", "")
    assert "Made 1 of 2 memories" in done
    assert "Made 0 of 0 memories" in run("consolidate")
    (summary,) = Memory.objects.live()
    said = run("consolidate", "--undo", done.split()[-1])
    assert "Brought back 2 memories, removed 1 summaries" in said
    assert not Memory.objects.live().filter(pk=summary.pk).exists()
    with pytest.raises(NotFound):
        run("consolidate", "--undo", "unknown")


def test_undoing_a_run_whose_summary_was_forgotten_says_why_nothing_came_back(remembered: Remembered):
    for text in ("The deploy runs from the release branch.", "Deploy: runs from the release branch as usual."):
        remembered(text)
    undo = run("consolidate").split()[-1]
    (summary,) = Memory.objects.live()
    run("forget", summary.uid)
    said = run("consolidate", "--undo", undo)
    assert f"Left {summary.uid}" in said
    assert "forgotten since" in said
    assert not Memory.objects.live().exists()


def test_undoing_a_run_again_says_that_it_was_undone(remembered: Remembered):
    for text in ("The deploy runs from the release branch.", "Deploy: runs from the release branch as usual."):
        remembered(text)
    undo = run("consolidate").split()[-1]
    assert "undone before" not in run("consolidate", "--undo", undo)
    assert "undone before" in run("consolidate", "--undo", undo)


def test_forgetting_what_ended_an_older_memory_says_how_that_one_comes_back(remembered: Remembered):
    older = remembered("The session store is Redis")
    newer = remembered("The session store moved from Redis to Postgres")
    conflicts.settle(Conflict.objects.get().pk, "confirmed", actor="ada")
    said = run("forget", newer.uid)
    assert said.rstrip().endswith(f"memory-mcp restore {older.uid}")
    assert "Would restore" in run("restore", older.uid, "--dry-run")
    run("restore", older.uid)
    assert Memory.objects.live().get().pk == older.pk
