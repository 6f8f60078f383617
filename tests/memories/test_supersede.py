"""New text for an old memory: a change or a correction."""

import pytest

from memories import lifecycle
from memories.errors import Conflict, NotFound, Rejected
from memories.models import AuditEntry, Kind, Memory, Reason
from memories.recall import Question, recall
from memories.remember import Draft, remember
from memories.truth.chains import chain_of

pytestmark = pytest.mark.django_db
NOON = "2026-03-29T12:00:00+00:00"
LATER = "2026-03-29T13:00:00+00:00"


def found(query):
    return [item.memory.content for item in recall(Question(query=query, mode="search")).items]


def test_a_change_starts_now_and_ends_what_it_replaces(remembered, freeze):
    noon = freeze(NOON)
    old = remembered("the cap is 3k")
    later = freeze(LATER)

    answer = remember(Draft(content="the cap is 9k", supersedes=[old.uid]))

    new = Memory.objects.get(uid=answer.uid)
    old.refresh_from_db()
    assert answer.superseded == (old.uid,)
    assert (old.valid_from, old.valid_to) == (noon, later)
    assert (old.superseded_by, old.superseded_reason) == (new, Reason.EDIT)
    assert (new.valid_from, new.valid_to) == (later, None)
    assert found("cap") == ["the cap is 9k"]


def test_a_correction_takes_the_start_of_what_was_never_so(remembered, freeze):
    noon = freeze(NOON)
    old = remembered("the cap is 3k")
    freeze(LATER)

    new = remembered("the cap is 4k", supersedes=[old.uid], correction=True)

    old.refresh_from_db()
    assert new.valid_from == noon
    assert old.valid_from == old.valid_to == noon
    assert old.superseded_reason == Reason.CORRECTION


def test_a_correction_with_a_start_of_its_own_is_refused(remembered):
    old = remembered("the cap is 3k")

    with pytest.raises(Rejected):
        remember(Draft(content="new", supersedes=[old.uid], correction=True, valid_from="2026-01-01"))


def test_a_change_cannot_start_before_what_it_changes(remembered, freeze):
    freeze(NOON)
    old = remembered("the cap is 3k", valid_from="2026-02-01")

    with pytest.raises(Conflict):
        remember(Draft(content="the cap is 9k", supersedes=[old.uid], valid_from="2026-01-31"))
    old.refresh_from_db()
    assert old.valid_to is None
    assert Memory.objects.count() == 1


def test_a_change_may_start_with_what_it_changes(remembered, freeze):
    freeze(NOON)
    old = remembered("the cap is 3k", valid_from="2026-02-01")

    remembered("the cap is 9k", supersedes=[old.uid], valid_from="2026-02-01")

    old.refresh_from_db()
    assert old.valid_to == old.valid_from


def test_what_is_left_out_is_inherited(remembered):
    old = remembered("we like tabs", kind="preference", tags=["style"], project="acme/shop", pinned=True)

    new = remembered("we like spaces", supersedes=[old.uid])

    assert (new.kind, new.tags, new.project, new.pinned) == (Kind.PREFERENCE, ["style"], "acme/shop", True)


@pytest.mark.parametrize("empty", [None, ""])
def test_an_empty_project_or_kind_is_left_out(remembered, empty):
    old = remembered("we like tabs", kind="preference", project="acme/shop")

    new = remembered("we like spaces", supersedes=[old.uid], project=empty, kind=empty)

    assert (new.kind, new.project) == (Kind.PREFERENCE, "acme/shop")


def test_what_was_stored_while_the_clock_was_ahead_is_found_again_and_can_be_replaced(remembered, freeze):
    freeze("2026-06-02T12:00:00+00:00")
    ahead, other = remembered("the cap is 3k"), remembered("the owl is awake")
    now = freeze("2026-06-01T12:00:00+00:00")
    assert found("cap") == []

    assert remembered("the cap is 3k").pk == ahead.pk
    assert found("cap") == ["the cap is 3k"]
    new = remembered("the owl is asleep", supersedes=[other.uid])
    assert new.valid_from == now
    assert found("owl") == ["the owl is asleep"]


def test_what_is_given_is_not_inherited(remembered):
    old = remembered("we like tabs", kind="preference", tags=["style"], project="acme/shop")

    new = remembered("we like spaces", supersedes=[old.uid], kind="decision", tags=[], project="*")

    assert (new.kind, new.tags, new.project) == (Kind.DECISION, [], "")


def test_a_change_of_captured_text_inherits_its_kind(remembered):
    old = remembered("we like tabs", kind="decision")

    assert remembered("we like spaces", source="compaction", supersedes=[old.uid]).kind == Kind.DECISION


def test_several_memories_can_be_replaced_by_one(remembered):
    olds = [remembered("the cap is 3k"), remembered("the limit is 3k")]

    answer = remember(Draft(content="cap and limit are 9k", supersedes=[old.uid for old in olds]))

    assert set(answer.superseded) == {old.uid for old in olds}
    assert Memory.objects.filter(superseded_by__uid=answer.uid).count() == 2


@pytest.mark.parametrize("uid", ["0" * 32, "", "\ud800", "x" * 10_000, "\x00", "%"])
def test_an_unknown_memory_cannot_be_replaced(uid):
    with pytest.raises(NotFound):
        remember(Draft(content="new", supersedes=[uid]))

    assert not Memory.objects.exists()


def test_a_memory_of_another_scope_is_unknown(remembered):
    other = remembered("theirs", scope="team")

    with pytest.raises(NotFound):
        remember(Draft(content="ours", supersedes=[other.uid]))


def test_a_forgotten_memory_is_unknown(remembered):
    old = remembered("gone")
    lifecycle.forget(old.uid, actor="ada")

    with pytest.raises(NotFound):
        remember(Draft(content="new", supersedes=[old.uid]))


def test_a_memory_is_replaced_once(remembered):
    old = remembered("the cap is 3k")
    remembered("the cap is 9k", supersedes=[old.uid])

    with pytest.raises(Conflict):
        remember(Draft(content="the cap is 12k", supersedes=[old.uid]))
    assert found("cap 12k") == ["the cap is 9k"]


def test_one_unknown_uid_among_others_leaves_all_as_they_were(remembered):
    old = remembered("the cap is 3k")

    with pytest.raises(NotFound):
        remember(Draft(content="new", supersedes=[old.uid, "0" * 32]))
    old.refresh_from_db()
    assert old.valid_to is None


@pytest.mark.parametrize("correction", [True, False])
def test_a_text_does_not_replace_itself(remembered, correction):
    old = remembered("the cap is 3k")

    answer = remember(Draft(content="the  cap is 3k", supersedes=[old.uid], correction=correction))

    assert (answer.uid, answer.status, answer.superseded) == (old.uid, "refreshed", ())
    assert Memory.objects.live().get() == old


def test_a_change_to_a_text_that_lives_already_ends_the_old_one_now(remembered, freeze):
    freeze(NOON)
    twin = remembered("we use Postgres")
    old = remembered("we use MySQL")
    later = freeze(LATER)

    answer = remember(Draft(content="we use Postgres", supersedes=[old.uid]))

    old.refresh_from_db()
    assert (answer.uid, answer.status, answer.superseded) == (twin.uid, "refreshed", (old.uid,))
    assert (old.valid_to, old.superseded_by) == (later, twin)


def test_the_audit_names_what_was_replaced(remembered):
    old = remembered("the cap is 3k")

    remember(Draft(content="the cap is 9k", supersedes=[old.uid], actor="ada"))

    entry = AuditEntry.objects.first()
    assert (entry.actor, entry.detail["supersedes"]) == ("ada", [old.uid])


def test_the_chain_of_a_fact_is_the_same_from_every_version(remembered):
    first = remembered("the cap is 1k")
    second = remembered("the cap is 2k", supersedes=[first.uid])
    third = remembered("the cap is 3k", supersedes=[second.uid])

    for version in (first, second, third):
        version.refresh_from_db()
        assert chain_of(version) == [first, second, third]


def test_a_forgotten_version_does_not_break_the_chain(remembered):
    first = remembered("the cap is 1k")
    second = remembered("the cap is 2k", supersedes=[first.uid])
    third = remembered("the cap is 3k", supersedes=[second.uid])

    lifecycle.forget(second.uid, actor="ada")

    assert chain_of(third) == [first, third]
