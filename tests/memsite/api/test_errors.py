"""Every error is a problem (RFC 9457), whoever finds it: the guard, Django, ninja, the domain or the database."""

import sqlite3
from collections.abc import Callable
from typing import Any

import pytest
from django.db import OperationalError

from memsite.api import memories as views
from tests.memsite.api.conftest import Rest

SECRET = "a detail that nobody outside needs"


@pytest.mark.parametrize(
    ("method", "path", "body", "expected"),
    [
        ("POST", "/ingest", b"{", (400, "bad_request")),
        ("POST", "/ingest", b'{"content": "a', (400, "bad_request")),
        ("POST", "/ingest", b"\xff\xfe\xfa", (400, "bad_request")),
        ("POST", "/recall", b"[" * 200_000, (400, "bad_request")),
        ("POST", "/ingest", b'{"content": "x", "ttl_seconds": ' + b"9" * 5000 + b"}", (400, "bad_request")),
        ("GET", "/nowhere", None, (404, "not_found")),
        ("GET", "/api/nowhere", None, (404, "not_found")),
        ("GET", "/api/memories/x/y", None, (404, "not_found")),
        ("GET", "/api/memories/x", None, (404, "not_found")),
        ("GET", "/ingest", None, (405, "method_not_allowed")),
        ("PUT", "/api/memories/x", {}, (405, "method_not_allowed")),
        ("DELETE", "/api/memories", None, (405, "method_not_allowed")),
        ("POST", "/ingest", None, (422, "invalid")),
        ("POST", "/ingest", [], (422, "invalid")),
        ("POST", "/ingest", "text", (422, "invalid")),
        ("POST", "/ingest", b"null", (422, "invalid")),
        ("POST", "/ingest", {}, (422, "invalid")),
        ("POST", "/ingest", {"content": ""}, (422, "rejected")),
        ("POST", "/recall", {"query": "x", "limit": 0}, (422, "invalid")),
        ("GET", "/api/memories?limit=0", None, (422, "rejected")),
        ("GET", "/api/memories?limit=x", None, (422, "invalid")),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_client_that_errs_is_told_what_is_wrong(
    stack: Callable[..., Rest], method: str, path: str, body: Any, expected: tuple[int, str]
) -> None:
    assert stack().ask(method, path, body).code == expected


@pytest.mark.parametrize("path", ["/ingest", "/recall", "/inject/report"])
@pytest.mark.parametrize("media_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_a_body_that_is_not_called_json_is_refused(stack: Callable[..., Rest], path: str, media_type: str) -> None:
    answer = stack().post(path, b'{"content": "x", "query": "x", "uids": []}', Content_Type=media_type)
    assert answer.code == (415, "not_json")
    assert answer.json["detail"] == "send Content-Type: application/json (curl --json)"


def test_a_body_that_is_too_long_is_refused(stack: Callable[..., Rest], configure: Callable[..., None]) -> None:
    configure(max_content_chars=1000)
    assert stack().post("/ingest", {"content": "x" * 80_000}).code == (413, "too_large")
    assert stack().post("/ingest", {"content": "x" * 2000}).code == (422, "rejected")
    assert stack().post("/ingest", {"content": "🙂" * 1000}).status == 201


def failing(error: BaseException) -> Callable[..., object]:
    def fail(*_: object, **__: object) -> object:
        raise error

    return fail


def refused_by_sqlite(code: int) -> OperationalError:
    """What Django raises when SQLite answers with a code."""
    cause = sqlite3.OperationalError("the words of SQLite")
    cause.sqlite_errorcode = code
    error = OperationalError(*cause.args)
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (RuntimeError(SECRET), (500, "internal")),
        (RecursionError(SECRET), (500, "internal")),
        (refused_by_sqlite(sqlite3.SQLITE_READONLY), (503, "store_unavailable")),
        (refused_by_sqlite(sqlite3.SQLITE_BUSY), (503, "store_unavailable")),
        (refused_by_sqlite(sqlite3.SQLITE_IOERR_WRITE), (503, "store_unavailable")),
        (refused_by_sqlite(sqlite3.SQLITE_FULL), (507, "store_full")),
    ],
    ids=["program", "recursion", "read-only", "busy", "input-output", "full"],
)
def test_what_fails_inside_is_a_problem_and_in_the_log(
    stack: Callable[..., Rest],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    error: Exception,
    expected: tuple[int, str],
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(views, "remember", failing(error))
        answer = stack().post("/ingest", {"content": "tea"})
    assert answer.code == expected
    assert SECRET not in answer.body.decode()
    assert any(record.levelname == "ERROR" and record.name.startswith("memsite") for record in caplog.records)
    assert stack().post("/ingest", {"content": "tea"}).status == 201


def test_a_problem_is_one_sentence_that_names_the_field(rest: Rest) -> None:
    detail = rest.post("/recall", {"query": "x", "limit": "many"}).json["detail"]
    assert detail.startswith("limit: ")
    assert "\n" not in detail
    assert rest.get("/api/memories?limit=many").json["detail"].startswith("limit: ")
    assert rest.post("/ingest", {"content": "x", "tags": ["a", 1]}).json["detail"].startswith("tags.1: ")


def test_a_long_wrong_value_does_not_come_back_in_the_answer(rest: Rest) -> None:
    for field in ("kind", "source", "scope", "harness"):
        answer = rest.post("/ingest", {"content": "x", field: "z" * 100_000})
        assert answer.code[0] == 422
        assert len(answer.body) < 1000, field
