import os
from collections.abc import Callable
from datetime import datetime

import pytest
from django.db import OperationalError

from memories import listing
from memsite.version import VERSION
from tests.memsite.api.conftest import Rest


def test_health_says_that_all_is_well_and_nothing_private(rest: Rest) -> None:
    rest.keep("tea", project="acme/shop")
    assert rest.get("/health").json == {
        "status": "ok",
        "version": VERSION,
        "database": "ok",
        "embedder": {"name": "none", "device": None, "state": "off"},
        "pid": os.getpid(),
    }


@pytest.mark.parametrize(
    ("words", "state"), [("database is locked", "busy"), ("disk I/O error", "failed"), ("no such table", "failed")]
)
def test_health_answers_while_the_database_does_not(
    rest: Rest, monkeypatch: pytest.MonkeyPatch, words: str, state: str
) -> None:
    def fail(*_: object) -> object:
        raise OperationalError(words)

    monkeypatch.setattr(listing.Memory.objects, "order_by", fail)
    answer = rest.get("/health")
    assert (answer.status, answer.json["status"], answer.json["database"]) == (200, "degraded", state)
    assert words not in answer.body.decode()


def test_an_empty_store_has_numbers_too(rest: Rest) -> None:
    stats = rest.get("/api/stats").json
    assert stats["memories"]["by_state"] == {"live": 0, "superseded": 0, "expired": 0, "forgotten": 0}
    assert stats["vectors"] == {"stored": 0, "pending": 0, "foreign": 0}
    assert (stats["injections"]["total"], stats["injections"]["most_injected"]) == (0, [])


def test_memories_are_counted_by_state_kind_and_project(rest: Rest, freeze: Callable[[str], datetime]) -> None:
    freeze("2026-03-01T00:00:00+00:00")
    rest.keep("expired", ttl_seconds=60)
    freeze("2026-03-02T00:00:00+00:00")
    old = rest.keep("old", kind="decision")
    rest.keep("new", supersedes=[old], project="acme/shop")
    rest.keep("fact")
    rest.keep("log", kind="artifact", project="acme/shop")
    rest.delete(f"/api/memories/{rest.keep('gone')}")
    memories = rest.get("/api/stats").json["memories"]
    assert memories == {
        "by_state": {"live": 3, "superseded": 1, "expired": 1, "forgotten": 1},
        "by_kind": {"artifact": 1, "decision": 1, "fact": 1},
        "by_project": {"acme/shop": 2, "": 1},
    }


def test_injections_are_counted_where_and_how_often(rest: Rest, freeze: Callable[[str], datetime]) -> None:
    freeze("2026-03-01T00:00:00+00:00")
    tea, coffee = rest.keep("tea"), rest.keep("coffee")

    def report(session: str, uids: list[str], harness: str, hook: str) -> None:
        fields = {"session": session, "harness": harness, "hook": hook}
        rest.post("/inject/report", {"uids": uids, "chars": 50, **fields})

    report("s1", [tea, coffee], "codex", "UserPromptSubmit")
    freeze("2026-03-10T00:00:00+00:00")
    report("s2", [tea], "codex", "SessionStart")
    report("s3", [tea], "claude", "SessionStart")
    assert rest.get("/api/stats").json["injections"] == {
        "total": 3,
        "last_7_days": 2,
        "chars": 150,
        "tokens": 37,
        "by_harness": {"codex": 2, "claude": 1},
        "by_hook": {"SessionStart": 2, "UserPromptSubmit": 1},
        "most_injected": [{"uid": tea, "count": 3}, {"uid": coffee, "count": 1}],
    }


def test_the_ten_most_injected_are_named(rest: Rest) -> None:
    uids = [rest.keep(f"note {number}") for number in range(12)]
    for number, uid in enumerate(uids):
        for session in range(number):
            rest.post("/inject/report", {"uids": [uid], "session": str(session)})
    most = rest.get("/api/stats").json["injections"]["most_injected"]
    assert [one["count"] for one in most] == list(range(11, 1, -1))
    gone = most[0]["uid"]
    rest.delete(f"/api/memories/{gone}")
    assert gone not in str(rest.get("/api/stats").json)
