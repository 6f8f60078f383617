import asyncio
import json
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.http import HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from django.test import override_settings
from django.urls import path
from django.views.decorators.http import require_POST

from mcpbridge import pool
from memories.errors import StoreFull
from memsite.asgi import make_application
from memsite.guard import Message

pytestmark = pytest.mark.django_db(transaction=True)


@require_POST
def echo(request: HttpRequest) -> HttpResponse:
    principal = request.scope["memories.principal"]  # type: ignore[attr-defined]
    return JsonResponse({"body": request.body.decode(), "maintain": principal.may_maintain})


def fail(request: HttpRequest, name: str) -> HttpResponse:
    errors = {
        "internal": RuntimeError("secret detail"),
        "full": StoreFull("The disk is full."),
        "denied": PermissionDenied(),
        "odd": SuspiciousOperation(),
    }
    raise errors[name]


def cookie(request: HttpRequest) -> HttpResponse:
    response = HttpResponse("text", content_type="text/plain")
    response.set_cookie("a", "b")
    return response


urlpatterns = [
    path("echo", echo),
    path("fail/<name>", fail),
    path("cookie", cookie),
    path("gone", lambda request: HttpResponse(status=204)),
    path("stream", lambda request: StreamingHttpResponse(iter([b"a", b"b"]))),
]


class Answer(SimpleNamespace):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def ask(method: str, target: str, body: bytes | None = b"", **headers: str) -> Answer:
    pairs = [
        (b"host", b"localhost"),
        *((name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()),
    ]
    if body:
        pairs += [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    scope = {"type": "http", "method": method, "path": target, "headers": pairs, "query_string": b""}
    answer = Answer(status=0, headers={}, body=b"")
    incoming = [{"type": "http.request", "body": body}] if body is not None else []

    async def receive() -> Message:
        if not incoming and body is not None:
            await asyncio.Event().wait()  # the client stays
        return incoming.pop() if incoming else {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        answer.body += message.get("body", b"")
        if "status" in message:
            answer.status = message["status"]
            answer.headers = {name.decode().lower(): value.decode() for name, value in message["headers"]}

    asyncio.run(make_application()(scope, receive, send))
    return answer


@pytest.fixture(autouse=True)
def with_urls(request: pytest.FixtureRequest) -> Iterator[None]:
    with override_settings(ROOT_URLCONF=__name__):
        yield
    pool.shutdown(5)


def test_a_view_gets_body_and_principal_and_its_answer_is_sent() -> None:
    answer = ask("POST", "/echo", b'{"a": 1}')
    assert answer.status == 200
    assert answer.json == {"body": '{"a": 1}', "maintain": False}
    assert answer.headers["content-length"] == str(len(answer.body))
    assert answer.headers["cache-control"] == "no-store"


def test_a_client_that_left_gets_nothing() -> None:
    assert ask("POST", "/echo", None).status == 0


@pytest.mark.parametrize(
    ("method", "target", "status", "code"),
    [
        ("GET", "/nowhere", 404, "not_found"),
        ("GET", "/static/../memsite/settings.py", 400, "bad_request"),
        ("GET", "/static//etc/passwd", 404, "not_found"),
        ("GET", "/static/admin", 404, "not_found"),
        ("GET", "/echo", 405, "method_not_allowed"),
        ("POST", "/static/admin/css/base.css", 405, "method_not_allowed"),
        ("POST", "/", 405, "method_not_allowed"),
        ("GET", "/fail/internal", 500, "internal"),
        ("GET", "/fail/full", 507, "store_full"),
        ("GET", "/fail/denied", 403, "forbidden"),
        ("GET", "/fail/odd", 400, "bad_request"),
    ],
)
def test_errors_are_problems(
    method: str, target: str, status: int, code: str, caplog: pytest.LogCaptureFixture
) -> None:
    answer = ask(method, target)
    assert (answer.status, answer.json["code"]) == (status, code)
    assert answer.headers["content-type"] == "application/problem+json"
    assert b"secret" not in answer.body
    assert ("allow" in answer.headers) is (status == 405)
    assert any("secret detail" in str(record.exc_info) for record in caplog.records) is (status == 500)


def test_a_query_that_is_no_text_is_a_bad_request() -> None:
    scope_query = {"query_string": b"\xff"}
    handler = make_application().app.api  # type: ignore[attr-defined]
    scope = {"type": "http", "method": "GET", "path": "/cookie", "headers": [], **scope_query}
    assert handler.answer(scope, b"")[0] == 400


def test_streams_cookies_and_empty_answers_pass() -> None:
    assert ask("GET", "/stream").body == b"ab"
    assert ask("GET", "/cookie").headers["set-cookie"].startswith("a=b")
    gone = ask("DELETE", "/gone")
    assert (gone.status, gone.body) == (204, b"")
    assert "content-length" not in gone.headers


def test_head_has_headers_only() -> None:
    answer = ask("HEAD", "/cookie")
    assert (answer.body, answer.headers["content-length"]) == (b"", "4")


def test_the_root_leads_to_the_admin() -> None:
    answer = ask("GET", "/")
    assert (answer.status, answer.headers["location"]) == (302, "/admin/")


def test_static_files_are_found_without_collecting_them() -> None:
    answer = ask("GET", "/static/admin/css/base.css")
    assert (answer.status, answer.headers["content-type"]) == (200, "text/css")
    assert b"DJANGO Admin" in answer.body
    changed = answer.headers["last-modified"]
    assert ask("GET", "/static/admin/css/base.css", if_modified_since=changed).status == 304


def test_the_admin_has_the_whole_of_django() -> None:
    with override_settings(ROOT_URLCONF="memsite.urls"):
        answer = ask("GET", "/admin/login/")
    assert answer.status == 200
    assert b"/static/admin/css/base.css" in answer.body
    assert "script-src 'self'" in answer.headers["content-security-policy"]


def test_a_lifespan_is_completed() -> None:
    events = ["lifespan.startup", "lifespan.shutdown"]
    answers: list[str] = []

    async def receive() -> Message:
        return {"type": events.pop(0)}

    async def send(message: Message) -> None:
        answers.append(message["type"])

    asyncio.run(make_application()({"type": "lifespan"}, receive, send))
    assert answers == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
