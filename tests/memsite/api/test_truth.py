"""History and conflicts over REST."""

import pytest

from tests.memsite.api.conftest import Rest

pytestmark = pytest.mark.django_db

OLD, NEW = "The session store is Redis", "The session store moved from Redis to Postgres"


@pytest.fixture
def pair(rest: Rest) -> dict:
    rest.post("/ingest", {"content": OLD})
    return rest.post("/ingest", {"content": NEW}).json["conflicts"][0]


def test_a_write_tells_of_what_it_contradicts(pair: dict) -> None:
    assert pair["excerpt"] == OLD
    assert (pair["verdict"], pair["evidence"]) == ("pending", "change: moved")


def test_the_queue_is_listed_settled_and_undone(rest: Rest, pair: dict) -> None:
    listed = rest.get("/api/conflicts").json
    assert (listed["total"], listed["items"][0]["older"]["content"], listed["items"][0]["newer"]["content"]) == (
        1,
        OLD,
        NEW,
    )
    settled = rest.post(f"/api/conflicts/{pair['id']}", {"verdict": "confirmed", "reason": "so it is"}).json
    assert (settled["verdict"], settled["reason"], settled["older"]["superseded_reason"]) == (
        "confirmed",
        "so it is",
        "conflict",
    )
    assert rest.get("/api/conflicts").json["total"] == 0
    assert rest.get("/api/conflicts?state=confirmed").json["total"] == 1
    undone = rest.post(f"/api/conflicts/{pair['id']}", {"verdict": "rejected"}).json
    assert undone["older"]["valid_to"] is None
    assert rest.get("/api/conflicts?state=all").json["total"] == 1


@pytest.mark.parametrize("path", ["/api/conflicts?state=foo", "/api/conflicts?limit=0", "/api/history"])
def test_a_bad_question_is_a_problem(rest: Rest, path: str) -> None:
    assert rest.get(path).code[0] == 422


def test_an_unknown_pair_and_verdict_are_problems(rest: Rest, pair: dict) -> None:
    assert rest.post("/api/conflicts/4711", {"verdict": "confirmed"}).code == (404, "not_found")
    assert rest.post(f"/api/conflicts/{pair['id']}", {"verdict": "perhaps"}).code[0] == 422
    assert rest.post(f"/api/conflicts/{pair['id']}", {}).code[0] == 422


def test_history_answers_three_questions(rest: Rest) -> None:
    old = rest.post("/ingest", {"content": OLD, "valid_from": "2026-03-01"}).json["uid"]
    new = rest.post("/ingest", {"content": NEW, "valid_from": "2026-06-01", "supersedes": [old]}).json["uid"]
    versions = rest.get(f"/api/history?uid={new}").json
    assert [(item["event"], item["memory"]["uid"]) for item in versions["items"]] == [("began", old), ("began", new)]
    assert versions["items"][0]["memory"]["superseded_by"] == new
    held = rest.get("/api/history?as_of=2026-04-01&query=session+store").json
    assert [item["memory"]["uid"] for item in held["items"]] == [old]
    changed = rest.get("/api/history?since=2026-05-01&until=2026-07-01").json
    assert sorted(item["event"] for item in changed["items"]) == ["began", "ended"]
    assert rest.get("/api/history?uid=" + "0" * 32).code == (404, "not_found")
