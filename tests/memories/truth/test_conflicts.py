"""Pairs of memories that contradict each other: found, kept, settled, undone."""

from collections.abc import Callable

import pytest

from memories import lifecycle
from memories.errors import Conflict as Contradiction
from memories.errors import NotFound, Rejected
from memories.models import AuditEntry, Conflict, Memory
from memories.recall import Question, recall
from memories.truth import conflicts, detection
from memories.truth.conflicts import settle
from tests.memories.conftest import found
from tests.memories.truth.pairs import NEW, OLD, keep, pair

pytestmark = pytest.mark.django_db


def verdicts() -> list[str]:
    return list(Conflict.objects.order_by("pk").values_list("verdict", flat=True))


def test_the_one_who_stores_is_told() -> None:
    older = keep(OLD)
    told = keep(NEW).conflicts
    assert [(one.uid, one.excerpt, one.verdict) for one in told] == [(older.uid, OLD, "pending")]
    assert told[0].evidence.startswith("change")


def test_a_change_is_held_against_what_it_is_about_and_not_against_all_that_share_a_word() -> None:
    for number in range(12):
        keep(f"The service of team {number} listens on a port")
    about = keep("The search service runs on Solr")
    told = keep("The search service was moved to Meilisearch").conflicts
    assert [one.uid for one in told] == [about.uid]


def test_a_write_compares_no_more_text_than_it_has_time_for(monkeypatch: pytest.MonkeyPatch) -> None:
    keep(OLD)
    monkeypatch.setattr(detection, "MOST_READ", 0)
    assert len(keep("The session store changed from Redis to Postgres").conflicts) == 1, "the best one is always read"
    assert len(keep("The session store was Redis, which we gave up for SQLite").conflicts) == 1
    monkeypatch.undo()
    assert len(keep("The session store was Redis, which we gave up for MySQL").conflicts) == 2


def test_nothing_is_invalidated_without_a_judge() -> None:
    older, _, _ = pair()
    assert older.valid_to is None
    assert OLD in found("session store")


def test_a_confirmed_pair_ends_the_older_where_the_newer_begins() -> None:
    older, newer, conflict = pair()
    settle(conflict.pk, "confirmed", actor="ada", reason="told so")
    older.refresh_from_db()
    assert (older.valid_to, older.superseded_by, older.superseded_reason) == (newer.valid_from, newer, "conflict")
    conflict.refresh_from_db()
    assert (conflict.verdict, conflict.decided_by, conflict.reason) == ("confirmed", "ada", "told so")
    assert conflict.decided_at
    assert found("session store") == [NEW]
    entry = AuditEntry.objects.get(action="settle")
    assert (entry.memory_uid, entry.actor) == (older.uid, "ada")
    assert OLD not in str(entry.detail)


def test_a_rejected_pair_leaves_both() -> None:
    older, _, conflict = pair()
    settle(conflict.pk, "rejected", actor="ada")
    older.refresh_from_db()
    assert older.valid_to is None
    assert all(not item.doubt for item in recall(Question(query="session store", mode="search")).items)


def test_a_confirmation_can_be_undone() -> None:
    older, _, conflict = pair()
    settle(conflict.pk, "confirmed", actor="ada")
    settle(conflict.pk, "rejected", actor="bob")
    older.refresh_from_db()
    assert (older.valid_to, older.superseded_by, older.superseded_reason) == (None, None, "")
    assert OLD in found("session store")


def test_undoing_over_a_living_twin_merges_into_it() -> None:
    older, _, conflict = pair()
    settle(conflict.pk, "confirmed", actor="ada")
    twin = keep(OLD, tags=["again"])
    assert twin.uid != older.uid
    settle(conflict.pk, "rejected", actor="ada")
    older.refresh_from_db()
    assert (older.superseded_by.uid, older.superseded_reason) == (twin.uid, "merge")
    assert found("session store").count(OLD) == 1


def test_undoing_leaves_alone_what_was_replaced_otherwise_meanwhile() -> None:
    older, _, conflict = pair()
    settle(conflict.pk, "confirmed", actor="ada")
    Memory.objects.filter(pk=older.pk).update(superseded_reason="edit")
    settle(conflict.pk, "rejected", actor="ada")
    older.refresh_from_db()
    assert older.valid_to


def test_what_ended_meanwhile_is_not_ended_again() -> None:
    older, _, conflict = pair()
    keep("The session store is a file", supersedes=[older.uid])
    with pytest.raises(Contradiction):
        settle(conflict.pk, "confirmed", actor="ada")
    assert verdicts()[0] == "pending"
    assert conflict not in conflicts.visible(state="pending")


def test_settling_twice_changes_nothing() -> None:
    _, _, conflict = pair()
    first = settle(conflict.pk, "confirmed", actor="ada")
    again = settle(conflict.pk, "confirmed", actor="bob")
    assert again.decided_by == first.decided_by == "ada"
    assert AuditEntry.objects.filter(action="settle").count() == 1


@pytest.mark.parametrize("verdict", ["", "pending", "maybe", "CONFIRMED"])
def test_an_unknown_verdict_is_refused(verdict: str) -> None:
    _, _, conflict = pair()
    with pytest.raises(Rejected):
        settle(conflict.pk, verdict, actor="ada")


@pytest.mark.parametrize("pk", [0, -1, 10**9, 2**70])
def test_an_unknown_pair_is_not_found(pk: int) -> None:
    with pytest.raises(NotFound):
        settle(pk, "confirmed", actor="ada")


def test_a_pair_of_another_scope_is_not_found() -> None:
    _, _, conflict = pair(scope="team")
    with pytest.raises(NotFound):
        settle(conflict.pk, "confirmed", actor="eve", scopes=["other"])
    assert list(conflicts.visible(scopes=["other"])) == []
    assert list(conflicts.visible(scopes=["team"])) == [conflict]


def test_memories_of_other_scopes_and_projects_do_not_contradict() -> None:
    keep(OLD, scope="team")
    keep(OLD, project="acme/other")
    assert keep(NEW, project="acme/shop").conflicts == ()


@pytest.mark.parametrize(("one", "other"), [("*", "acme/shop"), ("acme/shop", "*")])
def test_what_holds_everywhere_is_compared_with_every_project(one: str, other: str) -> None:
    keep(OLD, project=one)
    assert keep(NEW, project=other).conflicts


def test_a_long_memory_is_only_partly_outdated() -> None:
    minutes = "Lunch is at noon in the kitchen. " * 20 + OLD + ". " + "Tea is served at four in the hall. " * 20
    older, newer, conflict = pair(minutes)
    settle(conflict.pk, "confirmed", actor="ada")
    older.refresh_from_db()
    assert older.valid_to is None
    shown = {item.memory.uid: item.doubt for item in recall(Question(query="session store", mode="search")).items}
    assert shown == {newer.uid: "", older.uid: "partly outdated"}


def test_an_artifact_is_never_ended() -> None:
    older, _, conflict = pair("The session store is Redis, says the config", NEW)
    Memory.objects.filter(pk=older.pk).update(kind="artifact")
    settle(conflict.pk, "confirmed", actor="ada")
    older.refresh_from_db()
    assert older.valid_to is None


def test_an_artifact_ends_nothing() -> None:
    keep(OLD)
    assert keep(NEW, kind="artifact").conflicts == ()


def test_what_replaces_a_memory_is_no_conflict_with_it() -> None:
    older = keep(OLD)
    assert keep(NEW, supersedes=[older.uid]).conflicts == ()


def test_a_replacement_is_compared_as_what_it_becomes() -> None:
    keep(OLD, project="acme/shop")
    replaced = keep("The session store is Memcached", project="acme/queue", kind="fact")
    assert keep(NEW, supersedes=[replaced.uid]).conflicts == (), "it belongs to the project of what it replaces"
    assert len(keep(NEW, project="acme/shop").conflicts) == 1


def test_a_correction_is_older_than_what_came_after_that_which_it_corrects(freeze: Callable[[str], object]) -> None:
    freeze("2026-06-10T12:00:00Z")
    january = keep("The session store is Memcached", valid_from="2026-01-01")
    june = keep(NEW, valid_from="2026-06-01")
    Conflict.objects.all().delete()
    told = keep(OLD, supersedes=[january.uid], correction=True)
    conflict = Conflict.objects.get(pk=told.conflicts[0].id)
    assert (conflict.older.uid, conflict.newer.uid) == (told.uid, june.uid)


def test_of_two_memories_the_one_that_held_earlier_is_the_older_also_when_it_arrives_later() -> None:
    newer = keep(NEW)
    late = keep(OLD, valid_from="2026-01-01")
    conflict = Conflict.objects.get(pk=late.conflicts[0].id)
    assert (conflict.older.uid, conflict.newer.uid) == (late.uid, newer.uid)
    settle(conflict.pk, "confirmed", actor="ada")
    older = Memory.objects.get(uid=late.uid)
    assert older.valid_to == conflict.newer.valid_from


def test_memories_of_the_same_instant_are_ordered_by_their_arrival(freeze: Callable[[str], object]) -> None:
    freeze("2026-05-01T12:00:00Z")
    older, newer, conflict = pair()
    assert (conflict.older, conflict.newer) == (older, newer)
    settle(conflict.pk, "confirmed", actor="ada")
    older.refresh_from_db()
    assert older.valid_to == older.valid_from == newer.valid_from


def test_a_forgotten_memory_takes_its_pair_out_of_the_queue() -> None:
    older, _, conflict = pair()
    lifecycle.forget(older.uid, actor="ada")
    assert list(conflicts.visible()) == []
    with pytest.raises(NotFound):
        settle(conflict.pk, "confirmed", actor="ada")


def test_the_newest_judge_ends_what_is_alike(configure: Callable[..., None]) -> None:
    configure(judge="newest")
    older = keep(OLD)
    told = keep(NEW)
    assert [one.verdict for one in told.conflicts] == ["confirmed"]
    assert Memory.objects.get(uid=older.uid).superseded_by.uid == told.uid
    assert Conflict.objects.get().judge == "newest"


RULES = """\
always make a worktree before you edit
never touch other people's worktrees
always run ruff before commit
commit messages say why
tests are run with pytest
tests never sleep
write commit messages in English
never push to main
main is protected by review
reviews need two approvals
reviews are done within a day
errors are one clear sentence
errors are logged once
never log secrets
secrets live in the vault
the vault is rotated monthly
files are at most 350 lines
dataclasses are frozen
use dataclasses for values
types are checked by mypy
mypy runs in strict mode
imports are sorted by ruff
migrations are never edited
migrations are reviewed by two people""".splitlines()


@pytest.mark.parametrize("judge", ["none", "newest"])
def test_rules_that_share_a_word_stand_side_by_side(configure: Callable[..., None], judge: str) -> None:
    configure(judge=judge)
    assert [told for rule in RULES for told in keep(rule).conflicts] == []
    assert Memory.objects.live().count() == len(RULES)


def test_seventy_rules_that_share_words_end_nothing() -> None:
    verbs = ["make", "use", "keep", "write", "name", "check", "review"]
    things = ["worktree", "branch", "test", "commit", "module", "migration", "fixture", "index", "query", "release"]
    for verb in verbs:
        for thing in things:
            keep(f"Always {verb} a {thing} of your own before you {verbs[-1]} the {things[0]} of others.")
    assert Memory.objects.live().count() == 70
    assert not Conflict.objects.filter(verdict="confirmed").exists()


def test_what_comes_late_and_is_ended_by_two_is_kept(configure: Callable[..., None]) -> None:
    newer = [
        keep("The session store is Redis on host alpha"),
        keep("The session cache store is Postgres on host alpha"),
    ]
    configure(judge="newest")
    late = keep("The session store is Memcached on host alpha", valid_from="2020-01-01T00:00:00Z")
    memory = Memory.objects.select_related("superseded_by").get(uid=late.uid)
    assert memory.valid_to is not None
    assert memory.superseded_by
    assert memory.superseded_by.uid in {one.uid for one in newer}


def test_a_reason_is_stored_like_any_text() -> None:
    _, _, conflict = pair()
    settle(conflict.pk, "confirmed", actor="ada", reason="my key is AKIAIOSFODNN7EXAMPLF\x00 \ud800")
    conflict.refresh_from_db()
    assert "AKIA" not in conflict.reason
    assert conflict.reason.startswith("my key is [redacted:")
    with pytest.raises(Rejected):
        settle(conflict.pk, "rejected", actor="ada", reason="x" * 2001)


def test_what_was_never_true_ends_nothing() -> None:
    older, newer, conflict = pair()
    keep("The session store stays as it was", supersedes=[newer.uid], correction=True)
    with pytest.raises(Contradiction):
        settle(conflict.pk, "confirmed", actor="ada")
    older.refresh_from_db()
    assert older.valid_to is None
    settle(conflict.pk, "rejected", actor="ada")
