"""The own format: what leaves comes back as it was."""

import json
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memories import lifecycle
from memories.errors import Forbidden, Rejected
from memories.models import AuditEntry, Conflict, Memory
from memories.principal import Principal
from memories.remember import Draft, remember
from memories.truth.chains import chain_of
from tests.memories.conftest import found
from tests.memories.transfer.archives import archived, row
from tests.memories.transfer.conftest import brought, empty_store, exported, state

pytestmark = pytest.mark.django_db
type Remembered = Callable[..., Memory]
NOON = "2026-03-29T12:00:00+00:00"


def test_an_export_brought_into_an_empty_store_is_exported_as_the_same_bytes(rich: set[str]) -> None:
    before = exported()
    forbidden = [json.dumps(uid) for uid in rich]
    assert not any(uid in before for uid in forbidden)
    memories, conflicts = Memory.objects.count() - len(rich), 2
    empty_store()

    report = brought(before)

    assert (report.counts, report.conflicts) == ({"created": memories}, {"created": conflicts})
    assert exported() == before


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    drafts=st.lists(
        st.tuples(
            st.text(st.characters(), min_size=1), st.lists(st.text(), max_size=3),
            st.sampled_from(["fact", "artifact"]), st.floats(0, 1), st.booleans(), st.text(max_size=60),
        ),
        max_size=6,
    )
)  # fmt: skip
def test_whatever_is_stored_survives_the_round_trip(db: None, drafts: list[Any]) -> None:
    empty_store()
    latest = ""
    for content, tags, kind, confidence, pinned, session in drafts:
        draft = Draft(
            content=content, tags=tags, kind=kind, confidence=confidence, pinned=pinned, session=session,
            supersedes=[latest] if latest and pinned else (),
        )  # fmt: skip
        try:
            latest = remember(draft).uid or ""
        except Rejected:
            continue
    before = exported()
    empty_store()

    assert brought(before).bad == 0

    assert exported() == before


def test_bringing_it_in_again_changes_nothing(rich: set[str]) -> None:
    archive = exported()
    everything = state()

    report = brought(archive)

    assert set(report.counts) == {"unchanged"}
    assert set(report.conflicts) == {"unchanged"}
    assert state() == everything


def test_what_is_brought_in_is_found_at_once_and_audited(rich: set[str]) -> None:
    archive = exported()
    empty_store()

    brought(archive)

    assert found("decision parrot")
    assert found("zzyzx"), "the end of a long text"
    assert found("鸚鵡", project="acme/shop")
    assert AuditEntry.objects.filter(action="import", actor="ada").count() == Memory.objects.count()


def test_a_dry_run_writes_nothing_and_says_the_same(rich: set[str]) -> None:
    archive = exported()
    empty_store()
    everything = state()

    foreseen = brought(archive, dry_run=True)

    assert state() == everything
    assert foreseen.dry_run
    really = brought(archive)
    assert (foreseen.counts, foreseen.conflicts) == (really.counts, really.conflicts)


def test_a_chain_closes_over_what_is_not_exported(rich: set[str]) -> None:
    archive = [json.loads(line) for line in exported().splitlines()]
    by_content = {one["content"]: one for one in archive if one.get("type") == "memory"}
    assert by_content["version one"]["superseded_by"] == by_content["version three"]["uid"]
    assert by_content["the cap is 1k"]["superseded_by"] == by_content["the cap is 2k"]["uid"]


def test_a_part_of_the_store_is_a_whole_archive(rich: set[str]) -> None:
    part = exported(scope="default", project="acme/shop")
    empty_store()
    assert brought(part).bad == 0
    assert exported() == part
    assert set(Memory.objects.values_list("project", flat=True)) == {"acme/shop"}


def test_what_was_forgotten_here_stays_forgotten(remembered: Remembered) -> None:
    uid = remembered("the parrot").uid
    archive = exported()
    lifecycle.forget(uid, actor="ada")

    assert brought(archive).counts == {"forgotten": 1}
    assert brought(archive, dry_run=True).counts == {"forgotten": 1}

    assert found("parrot") == []


def test_what_was_purged_comes_back(remembered: Remembered) -> None:
    uid = remembered("the parrot").uid
    archive = exported()
    Memory.objects.filter(uid=uid).delete()

    assert brought(archive).counts == {"created": 1}
    assert exported() == archive


def test_a_text_is_never_overwritten(remembered: Remembered) -> None:
    uid = remembered("the parrot is green").uid
    report = brought(archived(row(uid=uid, content="the parrot is red")))
    assert report.bad == 1
    assert report.flaws[0].place == "line 2"
    assert found("parrot") == ["the parrot is green"]


def test_a_text_that_differs_is_foreseen_to_be_refused(remembered: Remembered) -> None:
    archive = archived(row(uid=remembered("the parrot is green").uid, scope="default", content="the parrot is red"))
    assert brought(archive, dry_run=True).counts == {"bad": 1}


def test_a_younger_state_of_a_known_memory_makes_it_the_stronger_of_both(
    remembered: Remembered, freeze: Callable[[str], datetime]
) -> None:
    freeze(NOON)
    memory = remembered("the parrot", tags=["here"], kind="artifact")
    freeze("2026-03-30T12:00:00+00:00")
    given = {"uid": memory.uid, "scope": "default", "tags": ["there"], "kind": "decision", "pinned": True}
    older = archived(row(**given, created_at="2026-03-29T11:00:00Z", updated_at="2026-03-29T11:00:00Z"))
    younger = archived(row(**given, created_at="2026-03-29T12:00:00Z", updated_at="2026-03-29T13:00:00Z"))

    assert brought(older).counts == {"unchanged": 1}
    assert brought(younger).counts == {"refreshed": 1}
    assert brought(younger).counts == {"unchanged": 1}

    memory.refresh_from_db()
    assert (memory.tags, memory.kind, memory.pinned) == (["here", "there"], "decision", True)
    assert memory.updated_at == datetime.fromisoformat("2026-03-29T13:00:00+00:00")


def test_the_end_of_a_validity_is_taken_over_with_its_link(versions: Any) -> None:
    archive = exported()
    first, second, third = versions
    Memory.objects.filter(pk=third.pk).delete()
    Memory.objects.filter(pk=second.pk).update(
        valid_to=None, superseded_by=None, superseded_reason="", updated_at=second.created_at
    )

    report = brought(archive)

    assert report.counts == {"created": 1, "refreshed": 1, "unchanged": 1}
    assert exported().splitlines()[1:] != []
    assert [one.uid for one in chain_of(Memory.objects.get(uid=third.uid))] == [
        one.uid for one in (first, second, third)
    ]


def test_a_living_twin_takes_the_row_in(remembered: Remembered) -> None:
    twin = remembered("the parrot", tags=["here"])
    archive = archived(row(scope="default", tags=["there"], created_at="2020-01-01T00:00:00Z"))

    assert brought(archive, dry_run=True).counts == {"refreshed": 1}
    assert brought(archive).counts == {"refreshed": 1}

    twin.refresh_from_db()
    merged = Memory.objects.get(uid="a" * 32)
    assert twin.tags == ["here", "there"]
    assert (merged.superseded_by, merged.superseded_reason, merged.valid_to) == (twin, "merge", twin.valid_from)
    everything = state()
    assert brought(archive).counts == {"unchanged": 1}
    assert state() == everything


def test_what_expired_meanwhile_is_left_out(remembered: Remembered, freeze: Callable[[str], datetime]) -> None:
    freeze(NOON)
    remembered("for a minute", ttl_seconds=60)
    archive = exported()
    empty_store()
    freeze("2026-03-29T13:00:00+00:00")

    assert brought(archive, dry_run=True).counts == {"expired": 1}
    assert brought(archive).counts == {"expired": 1}

    assert not Memory.objects.exists()


def test_another_scope_gets_copies_of_its_own(versions: Any) -> None:
    archive = exported()

    assert brought(archive, scope="team", project="acme/web").counts == {"created": 3}
    assert brought(archive, scope="team", project="acme/web").counts == {"unchanged": 3}

    newest = Memory.objects.get(scope="team", valid_to=None)
    assert newest.project == "acme/web"
    assert len(chain_of(newest)) == 3
    assert exported(scope="default") == archive


def test_a_verdict_that_was_given_here_stays_and_a_pending_one_is_settled(remembered: Remembered) -> None:
    old, new = remembered("we use tabs"), remembered("we use spaces")
    conflict = Conflict.objects.create(older=old, newer=new, similarity=0.9, verdict="confirmed", decided_by="ada")
    confirmed = exported()
    Conflict.objects.update(verdict="pending", decided_by="")
    assert brought(confirmed).conflicts == {"refreshed": 1}
    conflict.refresh_from_db()
    assert (conflict.verdict, conflict.decided_by) == ("confirmed", "ada")
    Conflict.objects.update(verdict="rejected")
    assert brought(confirmed).conflicts == {"unchanged": 1}


def test_nobody_moves_what_is_out_of_reach(remembered: Remembered) -> None:
    bob = Principal("bob", frozenset({"team"}))
    remembered("mine", scope="team")
    remembered("theirs")
    everything = exported()
    assert "theirs" not in exported(principal=bob)
    with pytest.raises(Forbidden):
        exported(principal=bob, scope="default")
    empty_store()

    assert brought(everything, principal=bob).counts == {"created": 1, "bad": 1}
    with pytest.raises(Forbidden):
        brought(everything, principal=bob, scope="default")

    assert [one.content for one in Memory.objects.all()] == ["mine"]
