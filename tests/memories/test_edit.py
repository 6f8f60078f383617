import pytest

from memories import lifecycle
from memories.edit import edit
from memories.errors import NotFound, Rejected
from memories.models import AuditEntry, Kind, Memory, Reason
from memories.recall import Question, recall

pytestmark = pytest.mark.django_db


@pytest.fixture
def parrot(remembered):
    return remembered("the parrot sleeps", tags=["zoo"], project="acme/shop")


def test_what_surrounds_a_text_changes_in_place(parrot, freeze):
    now = freeze("2027-01-01T00:00:00+00:00")

    edited = edit(parrot.uid, actor="ada", tags=["a", "b", "a"], kind="decision", project="acme/web", pinned=True)

    assert edited == Memory.objects.get()
    parrot.refresh_from_db()
    assert (parrot.tags, parrot.kind, parrot.project, parrot.pinned) == (["a", "b"], Kind.DECISION, "acme/web", True)
    assert (parrot.content, parrot.updated_at, parrot.valid_to) == ("the parrot sleeps", now, None)
    assert recall(Question(query="parrot", project="acme/web", tags=["a"])).items


def test_what_is_not_named_stays(parrot):
    edit(parrot.uid, actor="ada", pinned=True)

    parrot.refresh_from_db()
    assert (parrot.tags, parrot.kind, parrot.project) == (["zoo"], Kind.FACT, "acme/shop")


def test_an_edit_is_audited_by_the_names_of_the_fields(parrot):
    edit(parrot.uid, actor="ada", tags=["swordfish"], pinned=True, kind="fact")

    entry = AuditEntry.objects.get(action="edit")
    assert (entry.actor, entry.memory_uid, entry.detail) == ("ada", parrot.uid, {"fields": ["pinned", "tags"]})


def test_an_edit_that_changes_nothing_leaves_no_trace(parrot):
    edit(parrot.uid, actor="ada", tags=["zoo"], kind="fact", project="acme/shop", pinned=False)

    updated = parrot.updated_at
    parrot.refresh_from_db()
    assert parrot.updated_at == updated
    assert not AuditEntry.objects.filter(action="edit").exists()


def test_tags_can_be_taken_away_and_a_memory_can_be_made_to_hold_everywhere(parrot):
    edited = edit(parrot.uid, actor="ada", tags=[], project="*")

    assert (edited.tags, edited.project) == ([], "")


@pytest.mark.parametrize(
    "wrong", [{"kind": "foo"}, {"project": "x" * 201}, {"tags": ["x" * 201]}, {"tags": [str(n) for n in range(51)]}]
)
def test_what_cannot_be_meant_is_refused_and_nothing_changes(parrot, wrong):
    with pytest.raises(Rejected):
        edit(parrot.uid, actor="ada", **{"pinned": True, **wrong})

    parrot.refresh_from_db()
    assert not parrot.pinned
    assert not AuditEntry.objects.filter(action="edit").exists()


def test_editing_an_unknown_a_foreign_or_a_forgotten_memory_is_a_problem(parrot):
    for uid, scope in (("0" * 32, None), ("\ud800", None), (parrot.uid, "team")):
        with pytest.raises(NotFound):
            edit(uid, actor="eve", scope=scope, pinned=True)
    lifecycle.forget(parrot.uid, actor="ada")
    with pytest.raises(NotFound):
        edit(parrot.uid, actor="ada", pinned=True)


def test_a_move_onto_the_same_text_makes_the_two_one(parrot, remembered):
    twin = remembered("the parrot sleeps", project="acme/web", tags=["bird"], kind="artifact")

    survivor = edit(parrot.uid, actor="ada", project="acme/web", pinned=True)

    parrot.refresh_from_db()
    assert survivor == twin
    survivor.refresh_from_db()
    assert (survivor.tags, survivor.pinned, survivor.kind) == (["bird", "zoo"], True, Kind.FACT)
    assert (parrot.superseded_by, parrot.superseded_reason, parrot.project) == (twin, Reason.MERGE, "acme/web")
    assert [item.memory for item in recall(Question(query="parrot", project="acme/web")).items] == [twin]


def test_a_move_onto_an_expired_twin_closes_it(parrot, remembered, freeze):
    freeze("2027-01-01T00:00:00+00:00")
    twin = remembered("the parrot sleeps", project="acme/web", ttl_seconds=60)
    freeze("2027-01-02T00:00:00+00:00")

    assert edit(parrot.uid, actor="ada", project="acme/web") == parrot

    twin.refresh_from_db()
    assert twin.valid_to == twin.expires_at


def test_a_superseded_memory_may_be_moved_beside_a_living_twin(parrot, remembered):
    remembered("the parrot sings", supersedes=[parrot.uid])
    remembered("the parrot sleeps", project="acme/web")

    moved = edit(parrot.uid, actor="ada", project="acme/web")

    assert (moved, moved.superseded_reason) == (parrot, Reason.EDIT)
