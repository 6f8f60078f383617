import contextlib
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connection

from memories import clock, lifecycle
from memories.models import Memory
from telemetry import sessions
from telemetry.injections import Report, report, usage, visible
from telemetry.models import HarnessSession, InjectedMemory, Injection
from telemetry.retention import forget_queries, purge
from telemetry.sessions import next_prompt

pytestmark = pytest.mark.django_db
SESSION = {"scope": "default", "harness": "codex", "session": "s1"}


def inject(*memories, **fields):
    return report(Report(**{**SESSION, "uids": [memory.uid for memory in memories], **fields}))


@pytest.fixture
def parrot(remembered):
    return remembered("the parrot sleeps")


def test_what_was_reported_is_in_the_context_of_its_session(parrot):
    assert next_prompt(**SESSION).uids == frozenset()

    assert inject(parrot, fingerprint="f1") == 1

    context = next_prompt(**SESSION)
    assert (context.uids, context.fingerprint) == ({parrot.uid}, "f1")


def test_the_fingerprint_is_that_of_the_last_block(parrot, remembered):
    next_prompt(**SESSION)
    inject(parrot, fingerprint="f1")
    inject(remembered("the owl is awake"), fingerprint="f2")

    context = next_prompt(**SESSION)
    assert len(context.uids) == 2
    assert context.fingerprint == "f2"


def test_what_is_injected_before_the_first_prompt_is_in_the_context_too(parrot):
    inject(parrot, hook="SessionStart", fingerprint="f1")

    assert next_prompt(**SESSION).uids == {parrot.uid}


@pytest.mark.parametrize("other", [{"scope": "team"}, {"harness": "claude"}, {"session": "s2"}])
def test_no_session_has_the_context_of_another(parrot, other):
    next_prompt(**SESSION)
    inject(parrot)

    assert next_prompt(**{**SESSION, **other}).uids == frozenset()


def test_a_reset_starts_the_context_afresh(parrot):
    next_prompt(**SESSION)
    inject(parrot, fingerprint="f1")

    assert next_prompt(**SESSION, reset=True).uids == frozenset()

    context = next_prompt(**SESSION)
    assert (context.uids, context.fingerprint) == (frozenset(), "")
    inject(parrot)
    assert next_prompt(**SESSION).uids == {parrot.uid}


def test_a_memory_may_come_again_after_some_prompts(parrot, configure):
    configure(reinject_after=3)
    next_prompt(**SESSION)
    inject(parrot)

    assert [bool(next_prompt(**SESSION).uids) for _ in range(5)] == [True, True, False, False, False]


def test_a_reinjection_limit_of_zero_is_off(parrot, configure):
    configure(reinject_after=0)
    next_prompt(**SESSION)
    inject(parrot)

    assert all(next_prompt(**SESSION).uids for _ in range(50))


def test_prompts_of_a_session_are_counted(freeze):
    noon = freeze("2026-03-29T12:00:00+00:00")
    next_prompt(**SESSION)
    later = freeze("2026-03-29T13:00:00+00:00")
    next_prompt(**SESSION)

    row = HarnessSession.objects.get()
    assert (row.prompts, row.context_started_at, row.last_seen) == (2, noon, later)


def test_a_prompt_leaves_alone_what_else_is_known_of_the_session():
    next_prompt(**SESSION)
    HarnessSession.objects.update(transcript_offset=4711, project="acme/shop")

    next_prompt(**SESSION)

    row = HarnessSession.objects.get()
    assert (row.transcript_offset, row.project) == (4711, "acme/shop")


@pytest.mark.django_db(transaction=True)
def test_a_prompt_never_waits_for_a_writer(parrot):
    next_prompt(**SESSION)
    inject(parrot)

    with contextlib.closing(sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        context = next_prompt(**SESSION)
        writer.execute("ROLLBACK")

    assert context.uids == {parrot.uid}
    assert HarnessSession.objects.get().prompts == 1
    next_prompt(**SESSION)
    assert HarnessSession.objects.get().prompts == 2


def test_a_report_is_kept_with_what_it_says(parrot, freeze):
    now = freeze("2026-03-29T12:00:00+00:00")
    next_prompt(**SESSION)

    inject(parrot, hook="UserPromptSubmit", project="acme/shop", query="parrot?", chars=321, fingerprint="f1")

    row = Injection.objects.get()
    assert (row.at, row.harness, row.hook, row.scope, row.project, row.session, row.query, row.chars) == (
        now,
        "codex",
        "UserPromptSubmit",
        "default",
        "acme/shop",
        "s1",
        "parrot?",
        321,
    )
    assert (row.prompt, row.fingerprint) == (1, "f1")
    assert [one.memory_uid for one in row.memories.all()] == [parrot.uid]
    assert HarnessSession.objects.get().project == "acme/shop"
    parrot.refresh_from_db()
    assert parrot.last_injected_at == now


def test_secrets_in_a_prompt_do_not_reach_the_disk(parrot):
    secret = "AKIA" + "IOSFODNN7EXAMPL3"

    inject(parrot, query=f"\x00why does {secret} not work \ud800?")

    query = Injection.objects.get().query
    assert secret not in query
    assert query.startswith("why does [redacted:")


def test_unknown_foreign_and_forgotten_memories_are_left_out(parrot, remembered):
    foreign, gone = remembered("theirs", scope="team"), remembered("gone")
    lifecycle.forget(gone.uid, actor="ada")

    accepted = report(
        Report(**SESSION, uids=["0" * 32, parrot.uid, foreign.uid, gone.uid, parrot.uid, "", "\ud800", "%"])
    )

    assert accepted == 1
    assert [one.memory_uid for one in InjectedMemory.objects.all()] == [parrot.uid]


def test_a_report_of_nothing_known_leaves_no_trace():
    assert report(Report(**SESSION, uids=["0" * 32], query="secret plans")) == 0
    assert not Injection.objects.exists()


def test_a_superseded_memory_was_injected_all_the_same(parrot, remembered):
    remembered("the parrot sings", supersedes=[parrot.uid])

    assert inject(parrot) == 1


def test_a_memory_is_counted_once_a_session(parrot):
    for session in ("s1", "s1", "s2", "", ""):
        inject(parrot, session=session)

    parrot.refresh_from_db()
    assert parrot.injection_count == 4


def test_more_uids_than_a_statement_holds_do_no_harm(parrot):
    uids = [f"{number:032x}" for number in range(40_000)]

    assert report(Report(**SESSION, uids=[parrot.uid, *uids])) == 1


def test_injections_are_listed_newest_first_within_scopes(parrot, remembered):
    theirs = remembered("theirs", scope="team")
    inject(parrot, query="one")
    inject(parrot, query="two", harness="claude", project="acme/shop")
    inject(theirs, query="three", scope="team")

    assert [row.query for row in visible()] == ["three", "two", "one"]
    assert [row.query for row in visible(scopes=["default"])] == ["two", "one"]
    assert [row.query for row in visible(harness="codex")] == ["three", "one"]
    assert [row.query for row in visible(project="acme/shop")] == ["two"]


def test_usage_in_numbers(parrot, remembered, freeze):
    owl, theirs = remembered("the owl is awake"), remembered("theirs", scope="team")
    freeze("2026-03-01T12:00:00+00:00")
    inject(parrot, chars=400, hook="UserPromptSubmit")
    freeze("2026-03-29T12:00:00+00:00")
    inject(parrot, owl, chars=300, hook="SessionStart", session="s2")
    inject(theirs, chars=100, scope="team", harness="claude")

    ours = usage(scopes=["default"])
    assert (ours.total, ours.last_7_days, ours.chars, ours.tokens) == (2, 1, 700, 175)
    assert ours.by_harness == {"codex": 2}
    assert ours.by_hook == {"SessionStart": 1, "UserPromptSubmit": 1}
    assert ours.most_injected == [(parrot.uid, 2), (owl.uid, 1)]
    assert usage().total == 3
    assert usage().by_harness == {"codex": 2, "claude": 1}


def test_usage_of_nothing():
    empty = usage()

    assert (empty.total, empty.chars, empty.tokens, empty.most_injected) == (0, 0, 0, [])


def test_the_queries_of_purged_memories_are_blanked_and_the_records_stay(parrot, remembered):
    owl = remembered("the owl is awake")
    inject(parrot, owl, query="both")
    inject(owl, query="the owl only")

    forget_queries([parrot.uid])

    assert [row.query for row in visible()] == ["the owl only", ""]
    assert InjectedMemory.objects.count() == 3


def test_old_records_are_removed(parrot, configure, freeze):
    freeze("2026-01-01T00:00:00+00:00")
    inject(parrot, query="old")
    freeze("2026-03-29T12:00:00+00:00")
    inject(parrot, query="new")

    configure(ttl_injection_days=0)
    assert purge(now=clock.now()) == 0
    configure(ttl_injection_days=30)
    assert purge(now=clock.now()) == 1

    assert [row.query for row in visible()] == ["new"]
    assert InjectedMemory.objects.count() == 1
    assert purge(now=clock.now() + timedelta(days=31)) == 1
    assert Memory.objects.filter(pk=parrot.pk).exists()


def test_sessions_that_are_not_seen_any_more_are_removed(parrot, configure, freeze):
    configure(ttl_injection_days=30)
    freeze("2026-01-01T00:00:00+00:00")
    next_prompt(**SESSION)
    sessions.note_captured(10, **{**SESSION, "session": "captured"})
    freeze("2026-03-29T12:00:00+00:00")
    sessions.note_captured(20, **{**SESSION, "session": "captured"})

    purge(now=clock.now())

    assert [row.session for row in HarnessSession.objects.all()] == ["captured"]


@pytest.mark.django_db(transaction=True)
def test_hooks_of_a_session_at_once_are_each_counted(monkeypatch):
    monkeypatch.setattr(sessions, "MOST_WAIT_MS", 20_000)

    def prompt(_):
        next_prompt(**SESSION)
        connection.close()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(prompt, range(20)))
    assert HarnessSession.objects.get().prompts == 20


def test_no_name_of_a_row_shows_a_query(parrot):
    inject(parrot, query="the launch code is swordfish", hook="UserPromptSubmit")

    rows = [*Injection.objects.all(), *InjectedMemory.objects.all(), *HarnessSession.objects.all()]
    assert len(rows) == 3
    assert not [row for row in rows if "swordfish" in str(row)]
