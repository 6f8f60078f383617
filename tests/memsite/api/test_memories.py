from collections.abc import Callable
from datetime import datetime, timedelta
from urllib.parse import urlencode

import pytest

from memories.models import AuditEntry, Memory
from tests.memsite.api.conftest import Rest

UNKNOWN = "0" * 32


def listed(rest: Rest, **query: object) -> list[str]:
    answer = rest.get(f"/api/memories?{urlencode(query)}")
    assert answer.status == 200, answer.body
    assert answer.json["total"] == len(answer.json["items"])
    return [item["content"] for item in answer.json["items"]]


def test_the_newest_updated_stands_first(rest: Rest, freeze: Callable[[str], datetime]) -> None:
    for day, text in enumerate(("one", "two", "three"), start=1):
        freeze(f"2026-03-0{day}T00:00:00+00:00")
        rest.keep(text)
    freeze("2026-03-09T00:00:00+00:00")
    rest.keep("one")
    assert listed(rest) == ["one", "three", "two"]


def test_pages_have_a_total_and_meet_without_gaps(rest: Rest, freeze: Callable[[str], datetime]) -> None:
    freeze("2026-03-01T00:00:00+00:00")
    for number in range(7):
        rest.keep(f"note {number}")
    seen = []
    for offset in (0, 3, 6, 9):
        page = rest.get(f"/api/memories?limit=3&offset={offset}").json
        assert {name: page[name] for name in ("total", "limit", "offset")} == {
            "total": 7,
            "limit": 3,
            "offset": offset,
        }
        seen += [item["content"] for item in page["items"]]
    assert seen == [f"note {number}" for number in reversed(range(7))]


@pytest.mark.parametrize(
    "query",
    [
        "limit=0",
        "limit=501",
        "limit=-1",
        "limit=many",
        "limit=1e9",
        "limit=",
        "offset=-1",
        f"offset={2**63}",
        "limit=" + "9" * 5000,
        "kind=foo",
        "tier=foo",
        "source=foo",
        "state=foo",
        "as_of=then",
        "as_of=2026-03-01T12:00:00",
        "tag=" + "t" * 201,
        "harness=" + "h" * 201,
        "scope=" + "s" * 201,
    ],
    ids=lambda query: query[:20],
)
def test_a_filter_that_cannot_be_meant_is_refused(rest: Rest, query: str) -> None:
    assert rest.get(f"/api/memories?{query}").code[0] == 422


def test_the_last_page_that_can_be_asked_for_is_empty(rest: Rest) -> None:
    rest.keep("tea")
    assert rest.get(f"/api/memories?limit=500&offset={2**63 - 1}").json["items"] == []


def test_every_filter_narrows(rest: Rest) -> None:
    rest.keep("tea", kind="decision", source="chat", harness="codex", tags=["hot"], project="acme/shop")
    rest.keep("coffee", ttl_seconds=60)
    rest.keep("milk", scope="team")
    for name, value in {
        "kind": "decision",
        "source": "chat",
        "harness": "codex",
        "tag": "hot",
        "q": "TE",
        "tier": "episodic",
    }.items():
        assert listed(rest, **{name: value}) == ["tea"], name
    assert listed(rest, tier="working") == ["coffee"]
    assert listed(rest, scope="team") == ["milk"]
    assert listed(rest, project="acme/shop") == ["coffee", "tea"]
    assert listed(rest, kind="", tag="", q="", project="", state="live") == ["coffee", "tea"]


def test_text_is_looked_for_literally(rest: Rest) -> None:
    for text in ("100% sure", "1000 sure", "a_b", "axb", 'a"b', "a\\b", "it's"):
        rest.keep(text)
    for query, found in {"100%": "100% sure", "a_b": "a_b", 'a"b': 'a"b', "a\\b": "a\\b", "t's": "it's"}.items():
        assert listed(rest, q=query) == [found]


def test_states_are_apart(rest: Rest) -> None:
    old = rest.keep("old")
    rest.keep("new", supersedes=[old])
    gone = rest.keep("gone")
    rest.delete(f"/api/memories/{gone}")
    assert listed(rest) == listed(rest, state="live") == ["new"]
    assert listed(rest, state="superseded") == ["old"]
    assert sorted(listed(rest, state="all")) == ["new", "old"]


def test_what_was_true_then_is_listed(rest: Rest) -> None:
    old = rest.keep("old", valid_from="2026-01-01")
    rest.keep("new", supersedes=[old], valid_from="2026-03-01")
    assert listed(rest, as_of="2026-02-01") == ["old"]
    assert listed(rest, as_of="2026-03-01") == ["new"]
    assert listed(rest, as_of="2025-01-01") == []


def test_what_has_expired_is_not_listed(rest: Rest, freeze: Callable[[str], datetime]) -> None:
    freeze("2026-03-01T00:00:00+00:00")
    rest.keep("soon gone", ttl_seconds=60)
    freeze("2026-03-01T00:01:00+00:00")
    assert listed(rest) == listed(rest, state="all") == []


def test_what_has_expired_is_nowhere(rest: Rest, freeze: Callable[[str], datetime]) -> None:
    freeze("2026-03-01T00:00:00+00:00")
    uid = rest.keep("The session store is Redis.", ttl_seconds=60)
    rest.keep("The session store moved from Redis to Postgres.")
    (pair,) = rest.get("/api/conflicts").json["items"]
    freeze("2026-03-01T00:01:00+00:00")
    assert rest.get(f"/api/memories/{uid}").status == 404
    assert rest.patch(f"/api/memories/{uid}", {"content": "The session store is MySQL."}).status == 404
    assert rest.get(f"/api/history?uid={uid}").status == 404
    assert rest.get("/api/conflicts").json["items"] == []
    assert rest.post(f"/api/conflicts/{pair['id']}", {"verdict": "confirmed"}).status == 404


def test_a_memory_comes_with_every_version_of_its_fact(rest: Rest) -> None:
    first = rest.keep("one")
    second = rest.keep("two", supersedes=[first])
    third = rest.keep("three", supersedes=[second])
    for uid in (first, second, third):
        answer = rest.get(f"/api/memories/{uid}").json
        assert answer["uid"] == uid
        assert [version["uid"] for version in answer["chain"]] == [first, second, third]
    assert [version["superseded_by"] for version in answer["chain"]] == [second, third, None]
    rest.delete(f"/api/memories/{second}")
    assert [version["uid"] for version in rest.get(f"/api/memories/{third}").json["chain"]] == [first, third]


@pytest.mark.parametrize("uid", [UNKNOWN, "x", "%00", "%F0%9F%99%82", "%ED%A0%80", "9" * 5000, "1%20OR%201=1"])
def test_an_unknown_memory_is_a_problem(rest: Rest, uid: str) -> None:
    for method, body in (("GET", None), ("PATCH", {"pinned": True}), ("PATCH", {"content": "x"}), ("DELETE", None)):
        assert rest.ask(method, f"/api/memories/{uid}", body).code == (404, "not_found")


def test_metadata_changes_in_place_and_is_audited(rest: Rest) -> None:
    uid = rest.keep("tea", kind="fact", tags=["a"])
    changes = {"tags": ["b", "c"], "kind": "decision", "project": "acme/shop", "pinned": True}
    answer = rest.patch(f"/api/memories/{uid}", changes)
    assert answer.status == 200
    assert {name: answer.json[name] for name in ("uid", *changes)} == {"uid": uid, **changes}
    assert AuditEntry.objects.get(action="edit").detail == {"fields": sorted(changes)}
    for project in ("", "*"):
        assert rest.patch(f"/api/memories/{uid}", {"project": project}).json["project"] == ""
    assert rest.patch(f"/api/memories/{uid}", {"tags": [], "pinned": False}).json["tags"] == []


def test_new_text_is_a_new_memory(rest: Rest) -> None:
    uid = rest.keep("The cap is 3k.", kind="decision", tags=["a"], project="acme/shop")
    answer = rest.patch(f"/api/memories/{uid}", {"content": "The cap is 9k.", "tags": ["b"]})
    assert answer.status == 200
    new = answer.json
    assert new["uid"] != uid
    assert (new["kind"], new["tags"], new["project"]) == ("decision", ["b"], "acme/shop")
    old = rest.get(f"/api/memories/{uid}").json
    assert (old["superseded_by"], old["superseded_reason"]) == (new["uid"], "edit")
    assert rest.found("cap", project="acme/shop") == [new["uid"]]
    assert rest.patch(f"/api/memories/{uid}", {"content": "The cap is 10k."}).code == (409, "conflict")


def test_a_correction_takes_over_from_the_start(rest: Rest) -> None:
    uid = rest.keep("The cap is 3k.", valid_from="2026-01-01")
    new = rest.patch(f"/api/memories/{uid}", {"content": "The cap is 9k.", "correction": True}).json
    assert new["valid_from"].startswith("2026-01-01")
    assert rest.found("cap", as_of="2026-02-01") == [new["uid"]]


def test_metadata_given_with_new_text_is_taken_as_given(rest: Rest) -> None:
    uid = rest.keep("The cap is 3k.", tags=["a"], project="acme/shop")
    rest.patch(f"/api/memories/{uid}", {"pinned": True})
    new = rest.patch(f"/api/memories/{uid}", {"content": "The cap is 9k.", "pinned": False, "project": ""}).json
    assert (new["pinned"], new["project"], new["tags"]) == (False, "", ["a"])
    same = rest.patch(f"/api/memories/{new['uid']}", {"content": "The cap is 9k.", "tags": ["b"]}).json
    assert (same["uid"], same["tags"]) == (new["uid"], ["b"])


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"content": None},
        {"content": ""},
        {"content": " \0"},
        {"kind": "foo"},
        {"tags": "a"},
        {"tags": ["t" * 201]},
        {"project": "p" * 201},
        {"pinned": "perhaps"},
        {"content": "x", "kind": "foo"},
        {"content": "x", "correction": "perhaps"},
    ],
    ids=str,
)
def test_a_change_that_cannot_be_meant_changes_nothing(rest: Rest, change: dict[str, object]) -> None:
    uid = rest.keep("tea", tags=["a"])
    before = rest.get(f"/api/memories/{uid}").json
    assert rest.patch(f"/api/memories/{uid}", change).code[0] == 422
    assert rest.get(f"/api/memories/{uid}").json == before
    assert Memory.objects.count() == 1


def test_a_move_onto_the_same_text_makes_the_two_one(rest: Rest) -> None:
    here = rest.keep("tea", project="acme/shop", tags=["a"])
    there = rest.keep("tea", project="acme/blog", tags=["b"])
    moved = rest.patch(f"/api/memories/{here}", {"project": "acme/blog"}).json
    assert (moved["uid"], sorted(moved["tags"])) == (there, ["a", "b"])
    assert rest.get(f"/api/memories/{here}").json["superseded_reason"] == "merge"


def test_a_forgotten_memory_is_in_no_answer(rest: Rest) -> None:
    uid = rest.keep("tea time", tags=["a"])
    answer = rest.delete(f"/api/memories/{uid}")
    assert (answer.status, answer.body) == (204, b"")
    assert rest.get(f"/api/memories/{uid}").code == (404, "not_found")
    assert rest.delete(f"/api/memories/{uid}").code == (404, "not_found")
    assert rest.patch(f"/api/memories/{uid}", {"pinned": True}).code == (404, "not_found")
    assert rest.found("tea") == rest.found("time", as_of="2999-01-01") == []
    assert listed(rest, state="all") == listed(rest, q="tea") == listed(rest, tag="a") == []
    assert rest.get("/api/stats").json["memories"]["by_state"]["forgotten"] == 1
    assert rest.keep("tea time") != uid


def test_forgetting_takes_the_versions_that_were_replaced_if_asked(rest: Rest) -> None:
    def fact() -> tuple[str, str]:
        old = rest.keep("old")
        return old, rest.keep("new", supersedes=[old])

    old, new = fact()
    rest.delete(f"/api/memories/{new}")
    assert rest.get(f"/api/memories/{old}").status == 200
    rest.delete(f"/api/memories/{old}")
    old, new = fact()
    assert rest.delete(f"/api/memories/{new}?chain=true").status == 204
    assert rest.get(f"/api/memories/{old}").status == 404
    assert rest.delete(f"/api/memories/{new}?chain=perhaps").code[0] == 422


def test_a_new_text_of_a_working_memory_ends_when_the_old_one_would(rest: Rest) -> None:
    uid = rest.keep("The staging database is being rebuilt.", ttl_seconds=3600)
    old = rest.get(f"/api/memories/{uid}").json
    new = rest.patch(f"/api/memories/{uid}", {"content": "The staging database is being moved."}).json
    assert new["uid"] != uid
    assert new["tier"] == "working"
    ends = [datetime.fromisoformat(one["expires_at"]) for one in (old, new)]
    assert abs(ends[1] - ends[0]) < timedelta(seconds=1)
