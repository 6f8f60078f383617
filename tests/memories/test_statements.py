"""What a compiled statement leaves behind is what the ORM would have left."""

from datetime import UTC, datetime

import pytest
from django.db import IntegrityError, connection
from django.forms import model_to_dict

from memories import statements
from memories.models import AccessToken, AuditEntry, Memory

pytestmark = pytest.mark.django_db


def memory(**fields: object) -> Memory:
    when = datetime(2026, 3, 1, 12, 30, 15, 123456, tzinfo=UTC)
    given = {"scope": "s", "content": "Ünï", "tags": ["a", "b c"], "pinned": True, "valid_from": when, **fields}
    return Memory(**given)


def test_a_row_is_stored_as_the_orm_stores_it() -> None:
    ours, theirs = memory(content_hash="1", expires_at=None), memory(content_hash="2", expires_at=None)
    statements.insert(ours)
    theirs.save(force_insert=True)
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM memories_memory ORDER BY id")
        first, second = cursor.fetchall()
        names = [column[0] for column in cursor.description]
    own = {"id", "uid", "content_hash", "created_at", "updated_at"}
    assert [(n, a) for n, a in zip(names, first, strict=True) if n not in own] == [
        (n, b) for n, b in zip(names, second, strict=True) if n not in own
    ]
    assert model_to_dict(Memory.objects.get(pk=ours.pk)) == model_to_dict(ours)


def test_the_row_knows_that_it_is_stored() -> None:
    ours = memory()
    statements.insert(ours)
    assert ours.pk
    ours.pinned = False
    ours.save()
    assert Memory.objects.get().pinned is False


def test_rules_of_the_database_hold() -> None:
    statements.insert(memory(content_hash="1"))
    with pytest.raises(IntegrityError):
        statements.insert(memory(content_hash="1"))


def test_json_is_stored_as_json() -> None:
    statements.insert(AuditEntry(action="store", detail={"name": "ü", "uids": ["1"]}))
    assert AuditEntry.objects.get(detail__name="ü").detail["uids"] == ["1"]


def test_whether_rows_exist() -> None:
    def unrevoked() -> object:
        return AccessToken.objects.filter(revoked=None)

    assert not statements.exists(unrevoked)
    token = AccessToken.objects.create(name="t", token_hash="h")
    assert statements.exists(unrevoked)
    token.delete()
    assert not statements.exists(unrevoked)


def test_a_question_has_no_parameters() -> None:
    with pytest.raises(ValueError, match="parameters"):
        statements.exists(lambda: Memory.objects.filter(scope="s"))
