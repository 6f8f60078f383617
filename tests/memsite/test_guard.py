"""Who is let in, and what is said to the others."""

import asyncio
import json
import time
from collections.abc import Callable
from typing import Any

import pytest
from django.db import DatabaseError, OperationalError

from memories.principal import Principal
from memsite import guard
from memsite.access import OWNER, VISITOR
from memsite.guard import Guard, Message, Receive, Scope, Send
from tests.memsite.guarded import ask

pytestmark = pytest.mark.usefixtures("authentication")


@pytest.mark.parametrize(
    ("path", "is_open"),
    [
        ("/health", True),
        ("/", True),
        ("/static/admin/js/core.js", True),
        ("/api/docs", True),
        ("/api/openapi.json", True),
        ("/admin", True),
        ("/admin/memories/", True),
        ("/ingest", False),
        ("/mcp", False),
        ("/api/stats", False),
        ("/api/docs/", False),
        ("/healthy", False),
        ("/static", False),
        ("//static/x", False),
        ("//health", False),
        ("/unknown", False),
        ("", False),
    ],
)
def test_open_paths_need_no_token(path: str, is_open: bool, authentication: list[str | None]) -> None:
    answer = ask(path=path, headers={"authorization": "Bearer bad"})
    assert answer.status == (200 if is_open else 401)
    assert authentication == ([] if is_open else ["Bearer bad"])
    if is_open:
        assert answer.principal is VISITOR
    else:
        assert answer.headers[b"www-authenticate"] == b"Bearer"


def test_whom_a_token_stands_for() -> None:
    assert ask(headers={"authorization": "Bearer good"}).principal is OWNER
    assert ask().principal is VISITOR


def test_two_authorizations_count_as_none(authentication: list[str | None]) -> None:
    ask(headers=[("authorization", "Bearer good"), ("authorization", "Bearer bad")])
    assert authentication == [None]


def test_visitors_are_refused_where_others_reach_the_service(configure: Callable[..., None]) -> None:
    configure(host="192.168.1.5")
    outside = ("192.168.1.5", 8765)
    assert ask(host="192.168.1.5:8765", server=outside).status == 401
    good = {"authorization": "Bearer good"}
    assert ask(host="192.168.1.5:8765", server=outside, headers=good).status == 200
    assert ask(path="/health", host="192.168.1.5:8765", server=outside).status == 200
    assert ask(server=None).status == 200


@pytest.mark.parametrize("error", [OperationalError("locked"), DatabaseError("locked")])
def test_authentication_that_fails_lets_nobody_in(
    monkeypatch: pytest.MonkeyPatch, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_: str | None) -> Principal:
        raise error

    monkeypatch.setattr(guard, "authenticate", fail)
    answer = ask()
    assert (answer.status, answer.code) == (503, "store_unavailable")
    assert answer.principal is None
    assert "locked" not in answer.body.decode()


def test_refusals_are_problems() -> None:
    answer = ask(host="evil.example")
    assert answer.headers[b"content-type"] == b"application/problem+json"
    assert answer.headers[b"content-length"] == b"%d" % len(answer.body)
    found = json.loads(answer.body)
    assert found.keys() == {"type", "title", "status", "detail", "code"}
    assert (found["type"], found["title"]) == ("about:blank", "Misdirected Request")
    assert ask("HEAD", host="evil.example").body == b""


def test_websockets_are_closed_and_other_scopes_pass() -> None:
    seen: list[str] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(scope["type"])

    async def send(message: Message) -> None:
        seen.append(message["type"])

    async def receive() -> Message:
        return {}

    asyncio.run(Guard(app)({"type": "websocket", "path": "/", "headers": []}, receive, send))
    asyncio.run(Guard(app)({"type": "lifespan"}, receive, send))
    assert seen == ["websocket.close", "lifespan"]


def test_an_error_of_the_app_is_not_hidden() -> None:
    async def broken(scope: Scope, receive: Receive, send: Send) -> None:
        raise RuntimeError

    async def receive() -> Message:
        return {"type": "http.request", "body": b"{}"}

    headers = [
        (b"host", b"localhost"),
        (b"transfer-encoding", b"chunked"),
        (b"content-type", b"application/json"),
    ]
    scope = {"type": "http", "method": "POST", "path": "/health", "headers": headers}
    with pytest.raises(RuntimeError):
        asyncio.run(Guard(broken)(scope, receive, receive))  # type: ignore[arg-type]


def test_the_guard_costs_little() -> None:
    async def nothing(scope: Scope, receive: Receive, send: Send) -> None: ...

    async def unused(*_: object) -> Any: ...

    async def measure() -> float:
        gate = Guard(nothing)
        headers = [
            (b"host", b"127.0.0.1:8765"),
            (b"content-type", b"application/json"),
            (b"content-length", b"9"),
        ]
        headers += [(b"accept", b"*/*"), (b"user-agent", b"curl"), (b"accept-encoding", b"gzip")]
        times = []
        for _ in range(500):
            scope = {"type": "http", "method": "POST", "path": "/health", "headers": headers}
            began = time.perf_counter()
            await gate(scope, unused, unused)
            times.append(time.perf_counter() - began)
        return sorted(times)[len(times) // 2]

    assert asyncio.run(measure()) < 0.0002  # 0.01 ms on a quiet machine
