"""Storing a text again keeps the stronger of both."""

from datetime import timedelta

import pytest

from memories.models import AuditEntry, Kind, Memory, Source, Tier
from memories.recall import Question, recall
from memories.remember import Draft, remember

pytestmark = pytest.mark.django_db
NOON = "2026-03-29T12:00:00+00:00"
LATER = "2026-03-29T13:00:00+00:00"


@pytest.fixture
def twice(remembered, freeze):
    """Store a text, an hour later again, and get what is left."""

    def store(first, second):
        freeze(NOON)
        one = remembered("the same text", **first)
        freeze(LATER)
        two = remembered("the same text", **second)
        assert one.pk == two.pk
        assert Memory.objects.count() == 1
        return two

    return store


@pytest.mark.parametrize(
    ("first", "second", "kept"),
    [
        ("artifact", "decision", Kind.DECISION),
        ("decision", "artifact", Kind.DECISION),
        ("preference", "fact", Kind.PREFERENCE),
        ("artifact", "artifact", Kind.ARTIFACT),
    ],
)
def test_a_durable_kind_beats_an_artifact(twice, first, second, kept):
    assert twice({"kind": first}, {"kind": second}).kind == kept


@pytest.mark.parametrize(
    ("first", "second", "seconds"), [(60, None, None), (None, 60, None), (7200, 60, 7200), (3700, 3600, 7200)]
)
def test_no_end_beats_any_and_the_later_end_beats_the_earlier(twice, freeze, first, second, seconds):
    start = freeze(NOON)
    if first == 60:
        first = 4000  # still alive when it is stored again

    memory = twice({"ttl_seconds": first}, {"ttl_seconds": second})

    assert memory.expires_at == (start + timedelta(seconds=seconds) if seconds else None)
    assert memory.tier == (Tier.WORKING if seconds else Tier.EPISODIC)


def test_tags_are_united(twice):
    assert twice({"tags": ["a", "b"]}, {"tags": ["c", "a"]}).tags == ["a", "b", "c"]


@pytest.mark.parametrize("second", [True, False])
def test_a_pin_stays(twice, second):
    assert twice({"pinned": not second}, {"pinned": second}).pinned


@pytest.mark.parametrize(
    ("first", "second", "kept"),
    [
        ("mcp", "chat", Source.CHAT),
        ("chat", "mcp", Source.CHAT),
        ("tool", "admin", Source.ADMIN),
        ("admin", "tool", Source.ADMIN),
        ("mcp", "api", Source.MCP),
    ],
)
def test_the_source_that_is_a_person_stays(twice, first, second, kept):
    assert twice({"source": first}, {"source": second}).source == kept


@pytest.mark.parametrize(("first", "second"), [(0.3, 0.8), (0.8, 0.3)])
def test_the_higher_confidence_stays(twice, first, second):
    assert twice({"confidence": first}, {"confidence": second}).confidence == 0.8


def test_a_refresh_keeps_the_start_and_notes_the_time(twice, freeze):
    noon, later = freeze(NOON), freeze(LATER)

    memory = twice({}, {})

    assert (memory.valid_from, memory.created_at, memory.updated_at) == (noon, noon, later)


def test_a_refresh_is_audited(twice):
    twice({}, {"actor": "ada"})

    entry = AuditEntry.objects.first()
    assert (entry.action, entry.actor, entry.detail["status"]) == ("store", "ada", "refreshed")


def test_an_artifact_that_is_stored_again_lives_on(remembered, freeze, configure):
    configure(ttl_artifact_days=10)
    freeze("2026-03-01T00:00:00+00:00")
    remembered("captured parrot", source="tool")
    freeze("2026-03-10T00:00:00+00:00")
    remembered("captured parrot", source="tool")

    freeze("2026-03-19T00:00:00+00:00")
    assert recall(Question(query="parrot")).items
    freeze("2026-03-20T00:00:01+00:00")
    assert not recall(Question(query="parrot")).items


@pytest.mark.parametrize(
    ("first", "expiry"),
    [({"ttl_seconds": 60}, "2026-03-29T12:01:00+00:00"), ({"source": "tool"}, "2026-09-29T12:00:00+00:00")],
    ids=["ttl", "retention"],
)
def test_a_twin_that_has_expired_is_closed_and_the_text_is_new(remembered, freeze, first, expiry):
    freeze(NOON)
    expired = remembered("the parrot sleeps", **first)
    now = freeze(expiry)

    answer = remember(Draft(content="the parrot sleeps"))

    assert answer.status == "created"
    assert answer.uid != expired.uid
    expired.refresh_from_db()
    assert expired.valid_to == now
    assert [item.memory.uid for item in recall(Question(query="parrot")).items] == [answer.uid]


def test_a_forgotten_text_may_be_stored_anew(remembered, freeze):
    now = freeze(NOON)
    gone = remembered("the parrot sleeps")
    Memory.objects.filter(pk=gone.pk).update(deleted_at=now)

    assert remembered("the parrot sleeps").pk != gone.pk


def test_a_superseded_text_may_become_true_again(remembered):
    first = remembered("we use Postgres")
    second = remembered("we use MySQL", supersedes=[first.uid])

    third = remembered("we use Postgres", supersedes=[second.uid])

    assert third.pk != first.pk
    assert list(Memory.objects.live()) == [third]
