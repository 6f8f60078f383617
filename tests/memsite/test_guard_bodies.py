"""Which bodies reach the app behind the guard."""

import json
from collections.abc import Callable

import pytest

from memsite.guard import Guard
from tests.memsite.guarded import JSON, ask, inner

pytestmark = pytest.mark.usefixtures("authentication")


@pytest.mark.parametrize(
    ("content_type", "status"),
    [
        ("application/json", 200),
        ("Application/JSON; charset=utf-8", 200),
        ("application/json;x", 200),
        ("application/jsonevil", 415),
        ("application/json, text/plain", 415),
        ("application/problem+json", 415),
        ("text/plain", 415),
        ("text/plain; application/json", 415),
        ("application/x-www-form-urlencoded", 415),
        ("multipart/form-data; boundary=x", 415),
        ("", 415),
        (None, 415),
    ],
)
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "GET"])
@pytest.mark.parametrize("framing", ["content-length", "transfer-encoding"])
def test_a_body_must_be_json(method: str, framing: str, content_type: str | None, status: int) -> None:
    headers = {framing: "2" if framing == "content-length" else "chunked"}
    if content_type is not None:
        headers["content-type"] = content_type
    answer = ask(method, "/ingest", headers, chunks=(b"{}",))
    assert answer.status == status
    if status == 415:
        assert json.loads(answer.body)["detail"] == "send Content-Type: application/json (curl --json)"
        assert answer.received == 0


def test_two_content_types_are_refused() -> None:
    both = [("content-type", "application/json"), ("content-type", "text/plain")]
    assert ask("POST", "/ingest", both, chunks=(b"{}",)).status == 415


@pytest.mark.parametrize(
    ("method", "headers", "status"),
    [
        ("POST", {}, 200),
        ("POST", {"content-length": "0"}, 200),
        ("POST", JSON, 200),
        ("POST", {"content-type": "text/plain"}, 415),
        ("PUT", {"content-type": "multipart/form-data"}, 415),
        ("PATCH", {"content-type": ""}, 415),
        ("GET", {"content-type": "text/plain"}, 200),
        ("HEAD", {}, 200),
        ("OPTIONS", {}, 200),
        ("DELETE", {}, 200),
    ],
)
def test_a_request_without_a_body(method: str, headers: dict[str, str], status: int) -> None:
    assert ask(method, "/api/conflicts/1", headers).status == status


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/admin/login/", 200),
        ("/admin", 415),
        ("//admin/", 415),
        ("/./admin/", 415),
        ("/ADMIN/", 415),
        ("/admin\\", 415),
        ("/administrator/", 415),
        ("/ingest/admin/", 415),
        ("/ingest/../admin/", 415),
        ("/%61dmin/", 415),  # decoded once by the server: this is a literal percent sign
        ("/static/x", 415),
    ],
)
def test_only_the_admin_takes_forms(path: str, status: int) -> None:
    form = {"content-type": "application/x-www-form-urlencoded"}
    assert ask("POST", path, form, chunks=(b"a=b",)).status == status


def limit_to(configure: Callable[..., None]) -> int:
    configure(max_content_chars=100)
    return Guard(inner).body_limit


@pytest.mark.parametrize("path", ["/ingest", "/admin/login/", "/mcp"])
def test_a_body_announced_as_too_long_is_refused_unread(configure: Callable[..., None], path: str) -> None:
    limit = limit_to(configure)
    assert limit == 400 + 64 * 1024
    assert ask("POST", path, JSON, chunks=(b"x" * limit,)).status == 200
    answer = ask("POST", path, {"content-length": str(limit + 1), **JSON})
    assert (answer.status, answer.received) == (413, 0)


@pytest.mark.parametrize("path", ["/ingest", "/admin/login/", "/mcp"])
def test_a_chunked_body_is_counted(configure: Callable[..., None], path: str) -> None:
    chunk = b"x" * 10_000
    fits, over = limit_to(configure) // len(chunk), 50
    chunked = {"transfer-encoding": "chunked", **JSON}
    assert ask("POST", path, chunked, chunks=(chunk,) * fits).body == b"%d" % (fits * len(chunk))
    answer = ask("POST", path, chunked, chunks=(chunk,) * over)
    assert (answer.status, answer.code) == (413, "too_large")
    assert answer.received == fits + 1


@pytest.mark.parametrize("length", ["abc", "-1", "1e3", "+5", "", "9" * 19])
def test_a_length_that_is_no_number_is_refused(length: str) -> None:
    assert ask("POST", "/ingest", {"content-length": length, **JSON}).status == 400


def test_two_lengths_are_refused() -> None:
    both = [("content-length", "1"), ("content-length", "2"), ("content-type", "application/json")]
    assert ask("POST", "/ingest", both).status == 400
