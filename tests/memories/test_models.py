import io

import pytest
from django.core.management import call_command
from django.db import DatabaseError, IntegrityError, connection, transaction

from memories.models import AuditEntry, Conflict, Kind, Memory, MemoryChange, Passage
from memories.search import sqlite

pytestmark = pytest.mark.django_db


def row(**fields):
    return Memory(**{"scope": "default", "content": "text", "content_hash": "h", **fields})


def changes_of(memory_id):
    return MemoryChange.objects.filter(memory_id=memory_id).count()


def test_no_migration_is_missing():
    call_command("makemigrations", "--check", "--dry-run", stdout=io.StringIO())


def test_every_trigger_exists_after_migrate():
    with connection.cursor() as cursor:
        cursor.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")
        found = {name for (name,) in cursor.fetchall()}

    assert found >= set(sqlite.triggers())


def test_the_migration_of_the_indexes_can_be_reversed():
    with connection.cursor() as cursor:
        for statement in sqlite.uninstall():
            cursor.execute(statement)
        cursor.execute("SELECT name FROM sqlite_master WHERE name LIKE 'memories_fts%'")
        assert cursor.fetchall() == []
        for statement in sqlite.install():
            cursor.execute(statement)

    assert list(sqlite.problems()) == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"content": ""},
        {"valid_from": "2026-03-02T00:00:00Z", "valid_to": "2026-03-01T00:00:00Z"},
        {"pk": 4711, "superseded_by_id": 4711},
        {"scope": None},
        {"content": None},
    ],
)
def test_the_database_refuses_a_memory_that_makes_no_sense(wrong):
    with pytest.raises(IntegrityError), transaction.atomic():
        row(**wrong).save(force_insert=True)


def test_an_interval_may_be_empty():
    row(valid_from="2026-03-02T00:00:00Z", valid_to="2026-03-02T00:00:00Z").save()


def test_the_same_text_lives_once_in_a_project_of_a_scope():
    row().save()

    with pytest.raises(IntegrityError), transaction.atomic():
        row().save()


@pytest.mark.parametrize(
    "other",
    [
        {"scope": "team"},
        {"project": "acme/shop"},
        {"content_hash": "another"},
        {"deleted_at": "2026-03-01T00:00:00Z"},
        {"valid_from": "2026-03-01T00:00:00Z", "valid_to": "2026-03-02T00:00:00Z"},
    ],
)
def test_the_same_text_may_stand_elsewhere_or_be_over(other):
    row().save()

    row(**other).save()


def test_a_uid_is_unique_over_all_scopes():
    first = row()
    first.save()

    with pytest.raises(IntegrityError), transaction.atomic():
        row(uid=first.uid, scope="team").save()


def test_a_conflict_is_between_two_memories_and_exists_once(remembered):
    older, newer = remembered("apples are green"), remembered("pears fall in autumn")
    Conflict.objects.create(older=older, newer=newer, similarity=0.9)

    for pair in ((older, newer), (older, older)):
        with pytest.raises(IntegrityError), transaction.atomic():
            Conflict.objects.create(older=pair[0], newer=pair[1], similarity=0.9)


def test_a_passage_is_not_empty_and_has_a_place_of_its_own(remembered):
    memory = remembered("a text")
    fields = {"memory": memory, "vector": b"", "model": "m", "text_hash": "h"}
    Passage.objects.create(position=0, start=0, end=5, **fields)

    for position, start, end in ((1, 3, 3), (0, 5, 6)):
        with pytest.raises(IntegrityError), transaction.atomic():
            Passage.objects.create(position=position, start=start, end=end, **fields)


def test_a_superseded_memory_outlives_what_replaced_it(remembered):
    older = remembered("tea")
    newer = remembered("coffee", supersedes=[older.uid])

    newer.delete()

    older.refresh_from_db()
    assert older.superseded_by is None
    assert older.valid_to is not None


def test_no_name_of_a_row_shows_its_text(remembered):
    memory = remembered("the launch code is swordfish")
    rows = [memory, *AuditEntry.objects.all(), *MemoryChange.objects.all()]

    assert memory.uid in str(memory)
    assert not [one for one in rows if "swordfish" in str(one)]


@pytest.mark.parametrize(
    "change",
    [
        {"valid_to": "2999-01-01T00:00:00Z"},
        {"deleted_at": "2026-03-01T00:00:00Z"},
        {"expires_at": "2026-03-01T00:00:00Z"},
        {"scope": "team"},
        {"project": "acme/shop"},
        {"kind": Kind.DECISION},
        {"content": "another"},
        {"pinned": True},
    ],
)
def test_other_processes_are_told_of_a_change_of_state_or_place(remembered, change):
    memory = remembered("a text")
    before = changes_of(memory.pk)

    Memory.objects.filter(pk=memory.pk).update(**change)

    assert changes_of(memory.pk) == before + 1


def test_other_processes_are_told_of_new_and_removed_memories_and_passages(remembered):
    memory = remembered("a text")
    assert changes_of(memory.pk) == 1

    Passage.objects.create(memory=memory, position=0, start=0, end=6, vector=b"", model="m", text_hash="h")
    Passage.objects.filter(memory=memory).update(model="n")
    Passage.objects.filter(memory=memory).delete()
    assert changes_of(memory.pk) == 4

    pk = memory.pk
    memory.delete()
    assert changes_of(pk) == 5


def test_counters_bother_nobody(remembered):
    memory = remembered("a text")

    Memory.objects.filter(pk=memory.pk).update(injection_count=5, access_count=3, updated_at=memory.created_at)

    assert changes_of(memory.pk) == 1


@pytest.mark.parametrize(
    "change", [lambda rows: rows.update(actor="nobody"), lambda rows: rows.delete()], ids=["change", "remove"]
)
def test_the_audit_trail_can_only_grow(remembered, change):
    remembered("a text", actor="ada")
    before = list(AuditEntry.objects.values())

    with pytest.raises(DatabaseError), transaction.atomic():
        change(AuditEntry.objects.all())

    assert list(AuditEntry.objects.values()) == before


@pytest.mark.parametrize(
    ("tag", "found"),
    [
        ("auth", [["auth"]]),
        ("authentication", [["authentication"]]),
        ("a_b", [["a_b"]]),
        ("100%", [["100%"]]),
        ('a"b', [['a"b', "über"]]),
        ("über", [['a"b', "über"]]),
        ("1", [["1"]]),
        ("%", []),
        ("Auth", []),
        ("[", []),
        ("null", []),
    ],
)
def test_a_tag_is_matched_as_a_whole(remembered, tag, found):
    for number, tags in enumerate(
        [["auth"], ["authentication"], ["a_b"], ["axb"], ["100%"], ["100"], ['a"b', "über"], ["1"], []]
    ):
        remembered(f"text {number}", tags=tags)

    assert [memory.tags for memory in Memory.objects.tagged([tag]).oldest_first()] == found
