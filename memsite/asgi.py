"""The ASGI application: the guard round admin (full Django), REST (no middleware), MCP and static files."""

import io
import time

from django.apps import apps
from django.contrib.staticfiles.views import serve as serve_static
from django.core.asgi import get_asgi_application
from django.core.handlers.asgi import ASGIHandler, ASGIRequest
from django.http import HttpResponseNotAllowed
from django.http.response import HttpResponseBase

from mcpbridge import acting, pool
from mcpbridge.caller import Caller, caller
from mcpbridge.http import make_mcp_application
from memories import surrogates
from memsite.api import errors
from memsite.guard import (
    ADMIN,
    App,
    Guard,
    Message,
    Receive,
    Refused,
    Scope,
    Send,
    body_limit,
    identify,
    send_problem,
)
from memsite.version import VERSION

STATIC = "/static/"
MCP = "/mcp"
DOCS = "/api/docs"
WRITES = frozenset({"/ingest", "/inject/report"})
"""Frequent and short: they queue in the one thread that writes."""


class ApiHandler(ASGIHandler):
    """Django without middleware: a request is answered by a synchronous view in one thread of the pool."""

    def load_middleware(self, is_async: bool = False) -> None:
        self._view_middleware: list[object] = []
        self._template_response_middleware: list[object] = []
        self._exception_middleware: list[object] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = await _read(receive)
        if body is None:
            return
        scope["memories.received"] = time.monotonic()  # waiting for a thread counts
        run = pool.write if scope["path"] in WRITES else pool.run
        status, headers, content = await run(self.answer, scope, body)
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else content})

    def answer(self, scope: Scope, body: bytes) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
        """The whole response: status, headers, content. Errors become problem+json."""
        try:
            # Here, not in the guard: a second call into the pool would cost a tenth of a request.
            principal = identify(scope)
            response = self.view(ASGIRequest({**scope, "memories.principal": principal}, io.BytesIO(body)))
        except Refused as refused:
            response = errors.problem(refused.status, refused.detail, code=refused.code)
            for name, value in refused.headers:
                response.headers[name.decode()] = value.decode()
        except Exception as error:  # noqa: BLE001 - whatever a view raises
            response = errors.answer(error)
        return _rendered(_as_problem(response))

    def view(self, request: ASGIRequest) -> HttpResponseBase:
        response: HttpResponseBase = self._get_response(request)  # type: ignore[attr-defined]
        return response


class StaticHandler(ApiHandler):
    """Static files of the installed apps, found where they are: nothing needs to be collected."""

    def view(self, request: ASGIRequest) -> HttpResponseBase:
        if request.method not in ("GET", "HEAD"):
            return HttpResponseNotAllowed(["GET", "HEAD"])
        response = serve_static(request, request.path.removeprefix(STATIC), insecure=True)
        response.headers["Cache-Control"] = "max-age=60"
        return response


class McpHandler:
    """MCP over streamable HTTP for the principal of each request. Its lifespan is the application's."""

    def __init__(self) -> None:
        self.app = make_mcp_application(version=VERSION, body_limit=body_limit())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":
            # A GET would be a stream that carries nothing and delays the end of the service.
            await _refuse(scope, send, Refused(405, "method_not_allowed", "Use POST.", [(b"allow", b"POST")]))
            return
        try:
            acting.principal.set(await pool.run(identify, scope))
        except Refused as refused:
            await _refuse(scope, send, refused)
            return
        body = await _read(receive)
        if body is None:
            return
        caller.set(Caller.of(scope["headers"]))
        receive = _with_body(surrogates.repaired(body), receive)
        await self.app({**scope, "path": MCP, "raw_path": MCP.encode()}, receive, send)


class Composition:
    """Which part answers which path."""

    def __init__(self, *, site: App, api: App, static: App, mcp: McpHandler) -> None:
        self.site, self.api, self.static, self.mcp = site, api, static, mcp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.mcp.app(scope, receive, send)
        elif scope["path"] == "/":
            await _to_admin(scope, send)
        else:
            # The guard judged `path`; a prefix would make Django see another one.
            await self._part(scope["path"])({**scope, "root_path": ""}, receive, send)

    def _part(self, path: str) -> App:
        if path.startswith(STATIC):
            return self.static
        if path in (MCP, f"{MCP}/"):
            return self.mcp
        return self.site if path.startswith(ADMIN) or path in ("/admin", DOCS) else self.api


def make_application() -> Guard:
    # django.setup() would configure logging once more.
    site = ASGIHandler() if apps.ready else get_asgi_application()
    return Guard(Composition(site=site, api=ApiHandler(), static=StaticHandler(), mcp=McpHandler()))


async def _refuse(scope: Scope, send: Send, refused: Refused) -> None:
    await send_problem(send, refused, head=scope["method"] == "HEAD")


async def _to_admin(scope: Scope, send: Send) -> None:
    if scope["method"] not in ("GET", "HEAD"):
        await _refuse(scope, send, Refused(405, "method_not_allowed", "Use GET.", [(b"allow", b"GET, HEAD")]))
        return
    headers = [(b"location", ADMIN.encode()), (b"content-length", b"0")]
    await send({"type": "http.response.start", "status": 302, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


def _with_body(body: bytes, receive: Receive) -> Receive:
    """What is received after the body was read: the body once, then what else comes."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return messages.pop() if messages else await receive()

    return again


async def _read(receive: Receive) -> bytes | None:
    """The request's body; None if the client left. The guard limits its length."""
    parts: list[bytes] = []
    while True:
        message: Message = await receive()
        if message["type"] == "http.disconnect":
            return None
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(parts)


def _as_problem(response: HttpResponseBase) -> HttpResponseBase:
    """Errors that Django or ninja answered in plain text or HTML, as problem+json."""
    if response.status_code < 400 or "json" in response.headers.get("Content-Type", ""):
        return response
    better = errors.problem(response.status_code, f"{response.reason_phrase}.")
    if "Allow" in response.headers:
        better.headers["Allow"] = response.headers["Allow"]
    return better


def _rendered(response: HttpResponseBase) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
    content: bytes = response.getvalue()
    if response.streaming:
        response.close()
    if response.status_code not in (204, 304):
        response.headers["Content-Length"] = str(len(content))
    response.headers.setdefault("X-Content-Type-Options", "nosniff")
    response.headers.setdefault("Cache-Control", "no-store")
    headers = [(name.lower().encode("ascii"), value.encode("latin-1")) for name, value in response.items()]
    headers += [(b"set-cookie", cookie.OutputString().encode()) for cookie in response.cookies.values()]
    return response.status_code, headers, content


application = make_application()
