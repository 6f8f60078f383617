import contextlib
import random
import sqlite3
import stat
import string
from pathlib import Path

import pytest
from django.db import connection
from django.utils import timezone

from memories import lifecycle, listing
from memories.errors import NotFound, Rejected, StoreUnavailable
from memories.lifecycle import Selection
from memories.listing import Filters
from memories.models import AuditEntry, Conflict, Memory, Passage, Reason
from memories.recall import Question, recall
from memories.remember import Draft, remember
from telemetry import services as telemetry
from telemetry.models import Injection

pytestmark = pytest.mark.django_db
NOON = "2026-03-29T12:00:00+00:00"


def found(query, **fields):
    return [item.memory.content for item in recall(Question(query=query, mode="search", **fields)).items]


def actions(uid):
    return [entry.action for entry in AuditEntry.objects.filter(memory_uid=uid).order_by("pk")]


def database():
    return Path(connection.settings_dict["NAME"])


def bytes_on_disk():
    files = [database().with_name(database().name + end) for end in ("", "-wal", "-journal")]
    return b"".join(file.read_bytes() for file in files if file.exists())


@contextlib.contextmanager
def reader():
    """Somebody who is in the middle of reading."""
    with contextlib.closing(sqlite3.connect(database(), isolation_level=None)) as other:
        other.execute("BEGIN")
        other.execute("SELECT count(*) FROM memories_memory").fetchall()
        yield


@pytest.fixture
def versions(remembered):
    """Three versions of a fact, the newest last."""
    first = remembered("the cap is 1k")
    second = remembered("the cap is 2k", supersedes=[first.uid])
    return first, second, remembered("the cap is 3k", supersedes=[second.uid])


def test_what_is_forgotten_is_in_no_answer(remembered):
    memory = remembered("the parrot sleeps")

    assert lifecycle.forget(memory.uid, actor="ada").uids == (memory.uid,)

    for query in ("parrot sleeps", "arro", "sleeping"):
        assert found(query) == []
        assert found(query, as_of="9999-01-01") == []
        assert not recall(Question(query=query)).items
    for state in ("live", "superseded", "all"):
        assert listing.page(Filters(scope="default", state=state)).total == 0
    with pytest.raises(NotFound):
        lifecycle.find(memory.uid)
    assert telemetry.report(telemetry.Report(scope="default", uids=[memory.uid])) == 0
    assert actions(memory.uid) == ["store", "forget"]


@pytest.mark.parametrize("uid", ["0" * 32, "", "\ud800", "%", "x" * 5000])
@pytest.mark.parametrize("what", ["forget", "restore"])
def test_forgetting_and_restoring_an_unknown_memory_is_a_problem(what, uid):
    with pytest.raises(NotFound):
        getattr(lifecycle, what)(uid, actor="ada")


@pytest.mark.parametrize("what", ["forget", "restore"])
def test_a_memory_of_another_scope_is_unknown(remembered, what):
    memory = remembered("the parrot sleeps", scope="team")
    if what == "restore":
        lifecycle.forget(memory.uid, actor="ada")

    with pytest.raises(NotFound):
        getattr(lifecycle, what)(memory.uid, actor="eve", scope="default")


def test_a_memory_is_forgotten_once(remembered):
    memory = remembered("the parrot sleeps")
    lifecycle.forget(memory.uid, actor="ada")

    with pytest.raises(NotFound):
        lifecycle.forget(memory.uid, actor="ada")


def test_forgetting_leaves_the_versions_it_replaced(versions):
    first, second, third = versions

    lifecycle.forget(third.uid, actor="ada")

    assert set(Memory.objects.filter(deleted_at=None)) == {first, second}
    assert found("cap") == []


def test_forgetting_with_the_chain_takes_them_too(versions):
    _first, second, third = versions
    lifecycle.forget(second.uid, actor="ada")  # a gap in the chain hides nothing

    forgotten = lifecycle.forget(third.uid, actor="ada", chain=True)

    assert len(forgotten.uids) == 2
    assert not Memory.objects.filter(deleted_at=None).exists()


def test_forgetting_an_old_version_with_its_chain_leaves_what_replaced_it(versions):
    first, second, third = versions

    assert set(lifecycle.forget(second.uid, actor="ada", chain=True).uids) == {first.uid, second.uid}

    assert found("cap") == [third.content]


def test_forgetting_by_filter_takes_what_matches_all(remembered):
    remembered("one", kind="decision", project="acme/shop", tags=["old"])
    remembered("two", kind="decision", project="acme/shop", tags=["older"])
    remembered("three", kind="decision", project="acme/web", tags=["old"])
    remembered("four", kind="fact", project="acme/shop", tags=["old"])

    selection = Selection(kind="decision", project="acme/shop", tag="old")
    lifecycle.forget_all(selection.memories(), actor="ada")

    assert [one.content for one in Memory.objects.forgotten()] == ["one"]


def test_forgetting_by_date_goes_by_the_start(remembered):
    remembered("old", valid_from="2026-01-31T23:59:59Z")
    remembered("new", valid_from="2026-02-01")

    lifecycle.forget_all(Selection(before="2026-02-01").memories(), actor="ada")

    assert [one.content for one in Memory.objects.forgotten()] == ["old"]


@pytest.mark.parametrize("selection", [{}, {"kind": "foo"}, {"tier": "foo"}, {"source": "foo"}, {"before": "soon"}])
def test_a_filter_that_says_nothing_forgets_nothing(remembered, selection):
    remembered("one")

    with pytest.raises(Rejected):
        Selection(**selection).memories()


def test_a_restored_memory_is_back_in_every_answer(remembered):
    memory = remembered("the parrot sleeps")
    lifecycle.forget(memory.uid, actor="ada")

    restored = lifecycle.restore(memory.uid, actor="ada")

    assert (restored.uid, restored.merged_into) == (memory.uid, None)
    assert found("parrot") == ["the parrot sleeps"]
    assert actions(memory.uid) == ["store", "forget", "restore"]


def test_only_what_is_forgotten_can_be_restored(remembered):
    memory = remembered("the parrot sleeps")

    with pytest.raises(NotFound):
        lifecycle.restore(memory.uid, actor="ada")


def test_restoring_over_a_living_twin_makes_the_two_one(remembered):
    gone = remembered("the parrot sleeps", kind="decision", tags=["zoo"], pinned=True)
    lifecycle.forget(gone.uid, actor="ada")
    twin = remembered("the parrot sleeps", tags=["bird"])

    restored = lifecycle.restore(gone.uid, actor="ada")

    gone.refresh_from_db()
    twin.refresh_from_db()
    assert restored.merged_into == twin.uid
    assert (gone.deleted_at, gone.superseded_by, gone.superseded_reason) == (None, twin, Reason.MERGE)
    assert gone.valid_to == max(twin.valid_from, gone.valid_from)
    assert (twin.tags, twin.pinned) == (["bird", "zoo"], True)
    assert found("parrot") == ["the parrot sleeps"]
    assert lifecycle.chain_of(twin) == [gone, twin]


def test_restoring_over_an_expired_twin_closes_it(remembered, freeze):
    freeze(NOON)
    gone = remembered("the parrot sleeps")
    lifecycle.forget(gone.uid, actor="ada")
    twin = remembered("the parrot sleeps", ttl_seconds=60)
    freeze("2026-03-29T13:00:00+00:00")

    assert lifecycle.restore(gone.uid, actor="ada").merged_into is None

    twin.refresh_from_db()
    assert twin.valid_to == twin.expires_at
    assert [one.uid for one in Memory.objects.live()] == [gone.uid]


def test_a_restored_version_is_history_again(versions):
    first, _second, third = versions
    lifecycle.forget(first.uid, actor="ada")

    lifecycle.restore(first.uid, actor="ada")

    assert found("cap") == [third.content]
    assert lifecycle.chain_of(third) == list(versions)


def test_a_purge_takes_what_is_forgotten_or_expired_and_keeps_history(remembered, freeze, versions):
    freeze(NOON)
    gone, _timed, _captured = (
        remembered("gone"),
        remembered("timed", ttl_seconds=60),
        remembered("captured", source="tool"),
    )
    remembered("kept")
    pinned = [remembered("pinned", ttl_seconds=60, pinned=True), remembered("held", source="tool", pinned=True)]
    lifecycle.forget(gone.uid, actor="ada")
    freeze("2026-09-29T12:00:00+00:00")

    purged = lifecycle.purge(actor="ada")

    assert (purged.forgotten, purged.expired) == (1, 2)
    assert set(Memory.objects.values_list("content", flat=True)) == {
        "kept",
        *(one.content for one in (*pinned, *versions)),
    }
    entry = AuditEntry.objects.get(action="purge")
    assert (entry.actor, entry.detail) == ("ada", {"forgotten": 1, "expired": 2})


def test_a_purge_takes_passages_and_conflicts_along(remembered):
    gone, kept = remembered("the cap is 1k"), remembered("the cap is 2k")
    Passage.objects.create(memory=gone, position=0, start=0, end=1, vector=b"", model="m", text_hash="h")
    Conflict.objects.create(older=gone, newer=kept, similarity=0.9)
    lifecycle.forget(gone.uid, actor="ada")

    lifecycle.purge(actor="ada")

    assert not Passage.objects.exists()
    assert not Conflict.objects.exists()


def test_purging_a_successor_keeps_what_it_replaced(versions):
    first, second, third = versions
    lifecycle.forget(third.uid, actor="ada")

    lifecycle.purge(actor="ada")

    second.refresh_from_db()
    assert (second.superseded_by, second.valid_to is None) == (None, False)
    assert lifecycle.chain_of(second) == [first, second]


def test_what_was_purged_cannot_be_restored(remembered):
    memory = remembered("the parrot sleeps")
    lifecycle.forget(memory.uid, actor="ada")
    lifecycle.purge(actor="ada")

    with pytest.raises(NotFound):
        lifecycle.restore(memory.uid, actor="ada")


def test_other_holders_are_told_what_is_purged_in_the_same_transaction(remembered):
    gone = remembered("the parrot sleeps")
    lifecycle.forget(gone.uid, actor="ada")
    told = []

    def scrub(uids):
        told.append((list(uids), connection.in_atomic_block, Memory.objects.filter(uid__in=uids).exists()))

    lifecycle.purge(actor="ada", scrub=[scrub, scrub])

    assert told == [([gone.uid], True, False)] * 2


@pytest.mark.django_db(transaction=True)
def test_a_holder_that_fails_keeps_the_memories(remembered):
    gone = remembered("the parrot sleeps")
    lifecycle.forget(gone.uid, actor="ada")

    def broken(_uids):
        raise StoreUnavailable("no")

    with pytest.raises(StoreUnavailable):
        lifecycle.purge(actor="ada", scrub=[broken])
    assert lifecycle.restore(gone.uid, actor="ada")


@pytest.mark.django_db(transaction=True)
def test_a_purge_without_anything_to_do_costs_nothing(remembered):
    remembered("kept")

    assert lifecycle.purge(actor="ada").scrubbed
    assert "purge" not in AuditEntry.objects.values_list("action", flat=True)


def _invented(number):
    letters = random.Random(number)
    if number % 2:
        return "".join(letters.choice("龘靐齉爩鱻麤龗灪吁麣鸾鹂鲡驫鹳虋讟钃鸜纞") for _ in range(8))
    return "".join(letters.choice(string.ascii_lowercase) for _ in range(12))


def _left_of(words):
    disk = bytes_on_disk().lower()
    ends = {word: word[-4:] if ord(word[0]) > 127 else word[-8:] for word in words}
    return [word for word in words if word.encode() in disk or ends[word].encode() in disk]


def _forget_invented_words():
    words = [_invented(number) for number in range(200)]
    for word in words:
        uid = remember(Draft(content=f"the bird is called {word} in the zoo", tags=["bird"])).uid
        telemetry.report(telemetry.Report(scope="default", query=f"what about {word}?", uids=[uid], harness="codex"))
        lifecycle.forget(uid, actor="ada")
    assert len(_left_of(words)) == len(words)
    return words


@pytest.mark.django_db(transaction=True)
def test_no_byte_of_a_purged_memory_is_left_on_disk(remembered):
    for number in range(50):
        remembered(f"a kept memory about birds, number {number}")
    words = _forget_invented_words()

    purged = lifecycle.purge(actor="ada", scrub=[telemetry.forget_queries])

    assert (purged.forgotten, purged.scrubbed, purged.reason) == (200, True, "")
    assert _left_of(words) == []
    assert len(found("birds kept", limit=50)) == 50
    assert set(Injection.objects.values_list("query", flat=True)) == {""}
    assert lifecycle.problems() == []


@pytest.mark.django_db(transaction=True)
def test_with_a_reader_in_the_way_the_next_purge_finishes_the_work():
    words = _forget_invented_words()

    with reader():
        purged = lifecycle.purge(actor="ada", scrub=[telemetry.forget_queries])
        assert (purged.forgotten, purged.scrubbed) == (200, False)
        assert purged.reason
        assert _left_of(words)

    again = lifecycle.purge(actor="ada")
    assert (again.forgotten, again.scrubbed) == (0, True)
    assert _left_of(words) == []


@pytest.mark.django_db(transaction=True)
def test_a_purge_that_was_interrupted_is_finished_by_the_next(monkeypatch):
    words = _forget_invented_words()

    def killed():
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(lifecycle, "_scrub", killed)
        with pytest.raises(KeyboardInterrupt):
            lifecycle.purge(actor="ada", scrub=[telemetry.forget_queries])

    assert lifecycle.purge(actor="ada").scrubbed
    assert _left_of(words) == []


@pytest.mark.django_db(transaction=True)
def test_40_000_memories_can_be_forgotten_and_purged_at_once():
    now = timezone.now()
    rows = (
        Memory(scope="default", content=f"note {number}", content_hash=str(number), valid_from=now)
        for number in range(40_000)
    )
    Memory.objects.bulk_create(rows, batch_size=2000)
    steps = []

    lifecycle.forget_all(Selection(scope="default").memories(), actor="ada")
    purged = lifecycle.purge(
        actor="ada", scrub=[telemetry.forget_queries], progress=lambda done, total: steps.append((done, total))
    )

    assert (purged.forgotten, purged.scrubbed) == (40_000, True)
    assert not Memory.objects.exists()
    assert steps == sorted(steps)
    assert steps[-1] == (40_000, 40_000)


@pytest.mark.django_db(transaction=True)
def test_a_backup_is_a_whole_store_for_its_owner_only(remembered, tmp_path):
    remembered("the parrot sleeps")
    target = tmp_path / "copy.db"

    assert lifecycle.backup(target) == target

    with contextlib.closing(sqlite3.connect(target)) as copy:
        assert copy.execute("SELECT content FROM memories_memory").fetchall() == [("the parrot sleeps",)]
        assert copy.execute("SELECT rowid FROM memories_fts WHERE memories_fts MATCH 'parrot'").fetchall()
        assert copy.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


def test_a_backup_overwrites_nothing(tmp_path):
    target = tmp_path / "copy.db"
    target.write_text("precious")

    with pytest.raises(Rejected):
        lifecycle.backup(target)
    assert target.read_text() == "precious"


def test_a_backup_needs_a_folder(tmp_path):
    with pytest.raises(Rejected):
        lifecycle.backup(tmp_path / "nowhere" / "copy.db")


def test_a_backup_that_fails_leaves_nothing(tmp_path, monkeypatch):
    def broken(_target):
        raise StoreUnavailable("no")

    monkeypatch.setattr("memories.search.sqlite.backup", broken)
    with pytest.raises(StoreUnavailable):
        lifecycle.backup(tmp_path / "copy.db")
    assert list(tmp_path.iterdir()) == []


def _run(*statements):
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


@pytest.mark.parametrize(
    "harm",
    [
        "DROP TRIGGER memories_fts_ai",
        "DROP TRIGGER memories_fts_tri_au",
        "DROP TABLE memories_fts",
        "DROP TABLE memories_fts_tri",
        "DELETE FROM memories_fts_data WHERE id > 100",
        "DELETE FROM memories_fts_data",
        "UPDATE memories_fts_tri_data SET block = x'00ff00ff' WHERE id > 100",
        "UPDATE memories_fts_data SET block = x'ffffffff' WHERE id = 10",
        "INSERT INTO memories_fts(memories_fts) VALUES ('delete-all')",
        "DELETE FROM memories_fts_config",
        "DELETE FROM memories_fts_docsize",
        "DROP TABLE memories_fts_tri_idx",
        "UPDATE memories_memory SET segments = ''",
    ],
)
def test_an_index_that_is_harmed_can_be_made_anew(remembered, harm):
    for number in range(20):
        remembered(f"the parrot number {number} sleeps 在鸟笼里")
    _run(harm)

    assert lifecycle.reindex() == Memory.objects.count()

    assert lifecycle.problems() == []
    assert len(found("parrot", limit=50)) == Memory.objects.count()
    assert len(found("鸟笼", limit=50)) == 20
    assert len(found("arro", limit=50)) == Memory.objects.count()
    assert remember(Draft(content="one more parrot")).status == "created"
    assert "one more parrot" in found("more parrot")


@pytest.mark.parametrize(
    "harm",
    [
        "DROP TRIGGER memories_fts_ai",
        "DROP TRIGGER memories_auditentry_append_bd",
        "DELETE FROM memories_fts_data WHERE id > 100",
        "UPDATE memories_fts_tri_data SET block = x'00ff00ff' WHERE id > 100",
        "INSERT INTO memories_fts(memories_fts) VALUES ('delete-all')",
    ],
)
def test_harm_is_reported(remembered, harm):
    remembered("the parrot sleeps")
    assert lifecycle.problems() == []

    _run(harm)

    assert lifecycle.problems()


def test_a_keyword_store_has_no_vectors_to_fill_in(remembered):
    remembered("the parrot sleeps")

    assert lifecycle.backfill() == lifecycle.Backfilled()


@pytest.mark.django_db(transaction=True)
def test_a_purge_closes_the_chain_over_the_version_it_removes(remembered):
    first = remembered("We deploy on Mondays.")
    second = remembered("We deploy on Tuesdays.", supersedes=[first.uid])
    third = remembered("We deploy on Fridays.", supersedes=[second.uid])
    lifecycle.forget(second.uid, actor="me")
    lifecycle.purge(actor="me")
    assert [one.uid for one in lifecycle.chain_of(third)] == [first.uid, third.uid]
