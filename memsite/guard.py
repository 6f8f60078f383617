"""The one gate round everything: which requests are answered at all, and on whose behalf.

A web page in a browser can send requests to a service on this machine. What gives it away: a Host that is
not ours (DNS rebinding), a foreign Origin or Sec-Fetch-Site, or a content type that a form can send.
"""

import functools
import ipaddress
import json
import logging
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.db import DatabaseError

from memories.errors import Unauthorized
from memories.principal import Principal
from memsite.access import VISITOR, authenticate
from memsite.env import Env

type Scope = dict[str, Any]
type Message = Mapping[str, Any]
type Receive = Callable[[], Awaitable[Message]]
type Send = Callable[[Message], Awaitable[None]]
type App = Callable[[Scope, Receive, Send], Awaitable[None]]
type Headers = dict[bytes, list[bytes]]

ADMIN = "/admin/"
OPEN_PATHS = frozenset({"/", "/health", "/admin", "/api/docs", "/api/openapi.json"})
OPEN_PREFIXES = (ADMIN, "/static/")
LOCAL_NAMES = frozenset({"127.0.0.1", "localhost", "[::1]"})
EVERY_ADDRESS = frozenset({"0.0.0.0", "::"})  # noqa: S104 - names of wildcards, not a bind
HOST = re.compile(r"(\[[0-9a-f:.]+\]|[^\s:@/?#\[\]]+)(:[0-9]{1,5})?")
MULTIPART_MARGIN = 64 * 1024

logger = logging.getLogger(__name__)


class Refused(Exception):
    def __init__(self, status: int, code: str, detail: str, headers: Iterable[tuple[bytes, bytes]] = ()) -> None:
        super().__init__(detail)
        self.status, self.code, self.detail, self.headers = status, code, detail, tuple(headers)


def problem(status: int, code: str, detail: str) -> bytes:
    """An error as RFC 9457 problem+json."""
    title = HTTPStatus(status).phrase
    answer = {"type": "about:blank", "title": title, "status": status, "detail": detail, "code": code}
    return json.dumps(answer, ensure_ascii=False).encode("utf-8", "replace")


async def send_problem(send: Send, refused: Refused, *, head: bool = False) -> None:
    body = problem(refused.status, refused.code, refused.detail)
    headers = [
        (b"content-type", b"application/problem+json"),
        (b"content-length", b"%d" % len(body)),
        (b"x-content-type-options", b"nosniff"),
        (b"cache-control", b"no-store"),
        *refused.headers,
    ]
    await send({"type": "http.response.start", "status": refused.status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if head else body})


class Guard:
    """ASGI middleware: requests that may not be answered end here. For whom the others are, `identify` finds out."""

    def __init__(self, app: App) -> None:
        self.app = app
        self.hosts = allowed_hosts(settings.MEMORY)
        self.body_limit = body_limit()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        elif scope["type"] != "http":
            await self.app(scope, receive, send)
        else:
            await self._answer(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        # White space round a value is no part of it (RFC 9110), and not every server takes it away.
        scope["headers"] = [(name.lower(), value.strip(b" \t")) for name, value in scope["headers"]]
        headers: Headers = {}
        for name, value in scope["headers"]:
            headers.setdefault(name, []).append(value)
        try:
            host = self._host(headers)
            _check_origin(headers, host)
            _check_fetch_site(scope, headers)
            _check_media_type(scope, headers)
            self._check_length(headers)
        except Refused as refused:
            await send_problem(send, refused, head=scope["method"] == "HEAD")
            return
        if b"transfer-encoding" in headers:
            await self._answer_counting(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    def _host(self, headers: Headers) -> str:
        values = headers.get(b"host", [])
        host = values[0].decode("latin-1").lower() if len(values) == 1 else ""
        match = HOST.fullmatch(host)
        if match is None or match[1] not in self.hosts:
            raise Refused(421, "host_not_allowed", "Host is no name of this service (MEMORY_ALLOWED_HOSTS).")
        return host

    def _check_length(self, headers: Headers) -> None:
        length = _content_length(headers)
        if length > self.body_limit:
            raise self._too_large()

    def _too_large(self) -> Refused:
        return Refused(413, "too_large", f"The body is longer than {self.body_limit} bytes.")

    async def _answer_counting(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a body of unknown length on until it grows too long: the app then sees a client that left."""
        read, started = 0, False

        async def counted() -> Message:
            nonlocal read
            if read <= self.body_limit:
                message = await receive()
                read += len(message.get("body", b""))
            return {"type": "http.disconnect"} if read > self.body_limit else message

        async def unless_too_large(message: Message) -> None:
            nonlocal started
            if started or read <= self.body_limit:
                started = True
                await send(message)

        try:
            await self.app(scope, counted, unless_too_large)
        except Exception:
            if read <= self.body_limit or started:
                raise
        if read > self.body_limit and not started:
            await send_problem(send, self._too_large())


def body_limit() -> int:
    """Bytes of the longest body: four for each character of the longest content, and what surrounds it."""
    return 4 * settings.MEMORY.max_content_chars + MULTIPART_MARGIN


def allowed_hosts(env: Env) -> frozenset[str]:
    """The names, without port, to which requests may be addressed; IPv6 addresses in brackets."""
    names = {*env.allowed_hosts, *(() if env.host in EVERY_ADDRESS else (env.host,))}
    return LOCAL_NAMES | {in_url(name).lower() for name in names}


def in_url(host: str) -> str:
    """A host as it stands in a URL and in the Host header: IPv6 addresses in brackets."""
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


def local_url(host: str, port: int) -> str:
    """Where clients on this machine reach a service that listens on `host`."""
    return f"http://{in_url('127.0.0.1' if host in EVERY_ADDRESS else host)}:{port}"


@functools.lru_cache(maxsize=64)
def is_loopback(address: str) -> bool:
    """Whether an address of a socket is reachable from this machine only."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:  # a unix socket
        return True
    mapped = parsed.ipv4_mapped if isinstance(parsed, ipaddress.IPv6Address) else None
    return (mapped or parsed).is_loopback


def _check_origin(headers: Headers, host: str) -> None:
    for origin in headers.get(b"origin", ()):
        if origin.decode("latin-1") not in (f"http://{host}", f"https://{host}"):
            raise Refused(403, "origin_not_allowed", "Requests from other origins are not answered.")


def _check_fetch_site(scope: Scope, headers: Headers) -> None:
    sites = headers.get(b"sec-fetch-site", ())
    if all(site in (b"none", b"same-origin") for site in sites):
        return
    is_link = (
        scope["method"] == "GET"
        and headers.get(b"sec-fetch-mode") == [b"navigate"]
        and headers.get(b"sec-fetch-dest") == [b"document"]
        and (scope["path"] in ("/", "/admin") or scope["path"].startswith(ADMIN))
    )
    if not is_link:
        raise Refused(403, "cross_site", "Requests that another site makes are not answered.")


def _check_media_type(scope: Scope, headers: Headers) -> None:
    if scope["path"].startswith(ADMIN):  # Django's CSRF protection stands there
        return
    given = headers.get(b"content-type", [])
    has_body = _content_length(headers) > 0 or b"transfer-encoding" in headers
    if not has_body and not (given and scope["method"] in ("POST", "PUT", "PATCH")):
        return
    if len(given) != 1 or given[0].split(b";")[0].strip().lower() != b"application/json":
        raise Refused(415, "not_json", "send Content-Type: application/json (curl --json)")


def _content_length(headers: Headers) -> int:
    values = headers.get(b"content-length", [b"0"])
    if len(values) != 1 or not values[0].isdigit() or len(values[0]) > 18:
        raise Refused(400, "bad_length", "Content-Length is not one number.")
    return int(values[0])


def identify(scope: Scope) -> Principal:
    """On whose behalf a request that passed the guard is made; it reads the database. Raises Refused."""
    path = scope["path"]
    if path in OPEN_PATHS or path.startswith(OPEN_PREFIXES):
        return VISITOR
    values = [value for name, value in scope["headers"] if name == b"authorization"]
    try:
        principal = authenticate(values[0].decode("latin-1") if len(values) == 1 else None)
    except Unauthorized as error:
        raise _unauthorized(str(error)) from None
    except DatabaseError:
        logger.exception("Authentication failed")
        raise Refused(503, "store_unavailable", "The database cannot be read now.") from None
    # The last token may be revoked while the service listens to the network.
    if principal is VISITOR and not is_loopback((scope.get("server") or ("",))[0]):
        raise _unauthorized("Others reach this address: set MEMORY_TOKEN or create an access token.")
    return principal


def _unauthorized(detail: str) -> Refused:
    return Refused(401, Unauthorized.code, detail, [(b"www-authenticate", b"Bearer")])
