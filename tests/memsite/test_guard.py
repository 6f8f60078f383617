import asyncio
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.db import OperationalError

from memories.errors import Unauthorized
from memories.principal import Principal
from memsite import guard
from memsite.access import OWNER, VISITOR
from memsite.guard import Guard, Message, Receive, Scope, Send, is_loopback

JSON = {"content-type": "application/json"}
EVIL = "https://evil.example"


@dataclass
class Answer:
    status: int = 0
    headers: dict[bytes, bytes] = field(default_factory=dict)
    body: bytes = b""
    principal: Principal | None = None
    received: int = 0

    @property
    def code(self) -> str:
        return str(json.loads(self.body)["code"])


async def inner(scope: Scope, receive: Receive, send: Send) -> None:
    """An app that reads its whole body and says so."""
    length = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ConnectionError
        length += len(message.get("body", b""))
        if not message.get("more_body"):
            break
    scope["seen"].principal = scope["memories.principal"]
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"%d" % length})


def ask(
    method: str = "GET",
    path: str = "/api/stats",
    headers: dict[str, str] | list[tuple[str, str]] | None = None,
    *,
    host: str | None = "127.0.0.1:8765",
    chunks: tuple[bytes, ...] = (),
    server: tuple[str, int] | None = ("127.0.0.1", 8765),
) -> Answer:
    pairs = list(headers.items()) if isinstance(headers, dict) else list(headers or [])
    if host is not None:
        pairs.insert(0, ("host", host))
    if chunks and not any(name in ("transfer-encoding", "content-length") for name, _ in pairs):
        pairs.append(("content-length", str(sum(map(len, chunks)))))
    answer = Answer()
    waiting = list(chunks)

    async def receive() -> Message:
        answer.received += 1
        body = waiting.pop(0) if waiting else b""
        return {"type": "http.request", "body": body, "more_body": bool(waiting)}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            assert not answer.status
            answer.status, answer.headers = message["status"], dict(message["headers"])
        else:
            answer.body += message["body"]

    raw = [(name.encode(), value.encode("latin-1")) for name, value in pairs]
    scope = {
        "type": "http", "method": method, "path": path, "headers": raw, "server": server, "seen": answer
    }  # fmt: skip
    asyncio.run(Guard(inner)(scope, receive, send))
    return answer


@pytest.fixture(autouse=True)
def authentication(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str | None]]:
    """Authentication without a database: `Bearer good` or, while the list is empty-handed, anyone."""
    seen: list[str | None] = []

    def authenticate(authorization: str | None) -> Principal:
        seen.append(authorization)
        if authorization == "Bearer good":
            return OWNER
        if authorization == "Bearer bad":
            raise Unauthorized("No.")
        return VISITOR

    monkeypatch.setattr(guard, "authenticate", authenticate)
    yield seen
    from mcpbridge import pool

    pool.shutdown(5)


ROUTES = ["/", "/health", "/ingest", "/recall", "/mcp", "/admin/", "/static/admin/css/base.css", "/api/stats"]


@pytest.mark.parametrize("path", ROUTES)
@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8765",
        "127.0.0.1.nip.io:8765",
        "localhost.evil.example",
        "localhost.",
        "localhost:99@evil.example",
        "evil.example@localhost",
        "user:pw@localhost:8765",
        "localhost:8765:8765",
        "localhost:",
        "localhost:abc",
        "localhost/evil",
        "localhost evil",
        "127.0.0.1,evil.example",
        "[::1",
        "::1",
        "[::1]x",
        "[::2]",
        "0.0.0.0:8765",
        "127.0.0.2",
        "192.168.1.5:8765",
        "",
        None,
    ],
)
def test_a_foreign_host_is_refused_on_every_route(path: str, host: str | None) -> None:
    answer = ask(path=path, host=host)
    assert (answer.status, answer.code) == (421, "host_not_allowed")


@pytest.mark.parametrize("path", ROUTES)
@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:8765", "localhost", "LocalHost:8765", "[::1]", "[::1]:8765"])
def test_the_names_of_this_machine_are_answered(path: str, host: str) -> None:
    assert ask(path=path, host=host).status == 200


def test_two_host_headers_are_refused() -> None:
    assert ask(headers=[("host", "127.0.0.1:8765")]).status == 421
    assert ask(headers=[("host", "evil.example")]).status == 421


@pytest.mark.parametrize(
    ("fields", "host", "status"),
    [
        ({"host": "box.lan"}, "box.lan:8765", 200),
        ({"host": "0.0.0.0"}, "0.0.0.0:8765", 421),
        ({"host": "::"}, "[::]:8765", 421),
        ({"host": "fd00::5"}, "[FD00::5]:8765", 200),
        ({"allowed_hosts": ("Memory.lan", "fd00::6")}, "memory.lan", 200),
        ({"allowed_hosts": ("Memory.lan", "fd00::6")}, "[fd00::6]:1", 200),
        ({"allowed_hosts": ("memory.lan",)}, "sub.memory.lan", 421),
        ({"allowed_hosts": ("*",)}, "evil.example", 421),
    ],
)
def test_configured_hosts_are_answered(
    configure: Callable[..., None], fields: dict[str, Any], host: str, status: int
) -> None:
    configure(**fields)
    assert ask(host=host).status == status


@pytest.mark.parametrize(
    ("origin", "host", "status"),
    [
        ("http://127.0.0.1:8765", "127.0.0.1:8765", 200),
        ("https://127.0.0.1:8765", "127.0.0.1:8765", 200),
        ("http://localhost", "localhost", 200),
        ("http://localhost:8765", "127.0.0.1:8765", 403),
        ("http://127.0.0.1:3000", "127.0.0.1:8765", 403),
        ("http://127.0.0.1", "127.0.0.1:8765", 403),
        ("http://127.0.0.1:8765.evil.example", "127.0.0.1:8765", 403),
        ("http://127.0.0.1:8765/", "127.0.0.1:8765", 403),
        ("ftp://127.0.0.1:8765", "127.0.0.1:8765", 403),
        (EVIL, "127.0.0.1:8765", 403),
        ("null", "127.0.0.1:8765", 403),
        ("", "127.0.0.1:8765", 403),
    ],
)
@pytest.mark.parametrize("path", ["/ingest", "/admin/login/", "/health", "/mcp"])
def test_the_origin_must_be_the_host(path: str, origin: str, host: str, status: int) -> None:
    assert ask("POST", path, {"origin": origin, **JSON}, host=host, chunks=(b"{}",)).status == status


def test_one_foreign_origin_of_two_is_refused() -> None:
    assert ask(headers=[("origin", "http://127.0.0.1:8765"), ("origin", EVIL)]).status == 403


NAVIGATION = {"sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("GET", "/api/stats", {"sec-fetch-site": "same-origin"}, 200),
        ("GET", "/api/stats", {"sec-fetch-site": "none"}, 200),
        ("GET", "/api/stats", {"sec-fetch-site": "same-site"}, 403),
        ("GET", "/api/stats", {"sec-fetch-site": "cross-site"}, 403),
        ("GET", "/api/stats", {"sec-fetch-site": ""}, 403),
        ("GET", "/api/stats", {"sec-fetch-site": "cross-site", **NAVIGATION}, 403),
        ("GET", "/health", {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}, 403),
        ("GET", "/", {"sec-fetch-site": "cross-site", **NAVIGATION}, 200),
        ("GET", "/admin/", {"sec-fetch-site": "cross-site", **NAVIGATION}, 200),
        ("GET", "/admin/login/", {"sec-fetch-site": "same-site", **NAVIGATION}, 200),
        ("GET", "/admin/", {"sec-fetch-site": "cross-site", **NAVIGATION, "sec-fetch-dest": "iframe"}, 403),
        ("GET", "/admin/", {"sec-fetch-site": "cross-site", "sec-fetch-dest": "document"}, 403),
        ("GET", "/admin/", {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}, 403),
        ("POST", "/admin/", {"sec-fetch-site": "cross-site", **NAVIGATION}, 403),
        ("GET", "//admin/", {"sec-fetch-site": "cross-site", **NAVIGATION}, 403),
        ("GET", "/administrator", {"sec-fetch-site": "cross-site", **NAVIGATION}, 403),
    ],
)
def test_only_links_to_the_admin_may_come_from_other_sites(
    method: str, path: str, headers: dict[str, str], status: int
) -> None:
    assert ask(method, path, headers).status == status


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


@pytest.mark.parametrize("path", ["/ingest", "/recall", "/inject/report", "/mcp", "/api/memories/abc"])
@pytest.mark.parametrize("method", ["POST", "DELETE"])
@pytest.mark.parametrize(
    "content_type",
    [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/json",
    ],
)
def test_a_foreign_page_reaches_nothing(path: str, method: str, content_type: str) -> None:
    headers = {"origin": EVIL, "content-type": content_type}
    answer = ask(method, path, headers, chunks=(b'{"content": "x"}',))
    assert answer.status == 403
    assert answer.principal is None
    assert answer.received == 0


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


def test_the_principal_travels_in_the_scope() -> None:
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


@pytest.mark.parametrize("error", [OperationalError("locked"), RuntimeError("x")])
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


@pytest.mark.parametrize(
    ("address", "local"),
    [
        ("127.0.0.1", True),
        ("127.8.8.8", True),
        ("::1", True),
        ("::ffff:127.0.0.1", True),
        ("/run/socket", True),
        ("192.168.1.5", False),
        ("0.0.0.0", False),
        ("::", False),
        ("::ffff:10.0.0.1", False),
        ("fe80::1%eth0", False),
    ],
)
def test_which_addresses_are_of_this_machine_only(address: str, local: bool) -> None:
    assert is_loopback(address) is local


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
