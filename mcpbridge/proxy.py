"""Lines of JSON-RPC from an agent program to the live service, and its answers back. Standard library only."""

import base64
import contextlib
import http.client
import json
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

from mcpbridge.caller import Caller, here
from memories import surrogates

THREADS = 16
"""Requests under way at a time."""
RETURN_SECONDS = 10.0
"""How long a restart of the service is waited for."""
ANSWER_SECONDS = 600.0
LAST_SECONDS = 1.5
"""How long answers are waited for once nobody asks any more."""
PARSE_ERROR, SERVICE_ERROR = -32700, -32000
LONGEST_NAME = 200
VERSION = "io.modelcontextprotocol/protocolVersion"
NAMES = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}

type Message = dict[str, Any]


@dataclass(frozen=True)
class Live:
    """Where the service answers MCP, and the bearer token for it."""

    url: str
    token: str = ""


class Unreachable(Exception):
    """The service gave no usable answer; the message is for the model."""


class Proxy:
    """`find` gives the live service, anew each time, as it may restart; `write` takes a line for the client."""

    def __init__(self, find: Callable[[], Live | None], write: Callable[[bytes], None]) -> None:
        self._find, self._write = find, write
        self._live: Live | None = find()
        self._version = ""
        self._caller = Caller(here())
        self._lock = threading.Lock()
        self._open: dict[str, http.client.HTTPConnection] = {}
        self._cancelled: set[str] = set()

    def run(self, lines: Iterable[bytes]) -> None:
        """Pass every line on until there are no more."""
        executor = ThreadPoolExecutor(THREADS, "proxy")
        waiting: set[Future[None]] = set()
        for line in lines:
            if line.strip():
                waiting = {one for one in waiting if not one.done()} | {executor.submit(self._pass, line)}
        wait(waiting, LAST_SECONDS)
        executor.shutdown(wait=False, cancel_futures=True)

    def _pass(self, line: bytes) -> None:
        line = surrogates.repaired(line)
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            self._fail(None, PARSE_ERROR, "This is not JSON.")
            return
        one: Message = message if isinstance(message, dict) else {}
        self._note_client(one)
        if one.get("method") == "notifications/cancelled":
            self._cancel(one)
        try:
            for answer in self._answers(one, line):
                if _key(one) in self._cancelled:
                    return
                self._note_version(one, answer)
                if isinstance(answer, dict) and "error" in answer and answer.get("id") is None and "id" in one:
                    answer["id"] = one["id"]  # the service could not tell whose request this is
                self._write(json.dumps(answer, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")
        except (Unreachable, OSError, http.client.HTTPException, ValueError) as error:
            if _key(one) not in self._cancelled and "id" in one:
                sentence = str(error) if isinstance(error, Unreachable) else "The memory service broke off; try again."
                self._fail(one["id"], SERVICE_ERROR, sentence)
        finally:
            self._cancelled.discard(_key(one))

    def _answers(self, message: Message, line: bytes) -> Iterator[Any]:
        connection, live = self._connect()
        with contextlib.closing(connection):
            with self._lock:
                self._open[_key(message)] = connection
            try:
                connection.request("POST", urlsplit(live.url).path, line, self._headers(message, live))
                yield from _messages(connection.getresponse())
            finally:
                with self._lock:
                    self._open.pop(_key(message), None)

    def _connect(self) -> tuple[http.client.HTTPConnection, Live]:
        deadline = time.monotonic() + RETURN_SECONDS
        while True:
            live = self._live = self._live or self._find()
            if live is not None:
                address = urlsplit(live.url)
                connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=ANSWER_SECONDS)
                try:
                    connection.connect()
                except OSError:
                    self._live = None
                else:
                    return connection, live
            if time.monotonic() > deadline:
                raise Unreachable("The memory service has stopped; the user can start it again with: memory-mcp")
            time.sleep(0.1)

    def _headers(self, message: Message, live: Live) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        headers |= self._caller.headers()
        if live.token:
            headers["Authorization"] = f"Bearer {live.token}"
        method, parameters = message.get("method"), message.get("params")
        parameters = parameters if isinstance(parameters, dict) else {}
        meta = parameters.get("_meta")
        version = meta.get(VERSION) if isinstance(meta, dict) else None
        if isinstance(version, str) and isinstance(method, str):  # since 2026-07-28 each request says what it is
            headers |= {"MCP-Protocol-Version": _header(version), "Mcp-Method": _header(method)}
            name = parameters.get(NAMES.get(method, ""))
            if isinstance(name, str):
                headers["Mcp-Name"] = _header(name)
        elif self._version and method != "initialize":
            headers["MCP-Protocol-Version"] = self._version
        return headers

    def _note_client(self, message: Message) -> None:
        """The name of the program is told once; the service, which knows no sessions, is sent it with every request."""
        parameters = message.get("params")
        told = parameters.get("clientInfo") if isinstance(parameters, dict) else None
        if message.get("method") == "initialize" and isinstance(told, dict):
            self._caller = replace(self._caller, client=str(told.get("name", ""))[:LONGEST_NAME])

    def _note_version(self, message: Message, answer: Any) -> None:
        if message.get("method") == "initialize" and isinstance(answer, dict):
            version = (answer.get("result") or {}).get("protocolVersion")
            self._version = version if isinstance(version, str) else ""

    def _cancel(self, message: Message) -> None:
        parameters = message.get("params")
        key = json.dumps(parameters.get("requestId") if isinstance(parameters, dict) else None)
        with self._lock:
            connection = self._open.get(key)
            if connection is None or connection.sock is None:
                return
            self._cancelled.add(key)
            with contextlib.suppress(OSError):
                connection.sock.shutdown(socket.SHUT_RDWR)

    def _fail(self, identifier: object, code: int, sentence: str) -> None:
        error = {"jsonrpc": "2.0", "id": identifier, "error": {"code": code, "message": sentence}}
        self._write(json.dumps(error, ensure_ascii=False).encode() + b"\n")


def _key(message: Message) -> str:
    return json.dumps(message.get("id"))


def _header(value: str) -> str:
    """A value as it may stand in a header: what would not survive there in Base64, as the protocol says."""
    plain = value.isascii() and value.isprintable() and value == value.strip() and not value.startswith("=?base64?")
    return value if plain and value else f"=?base64?{base64.b64encode(value.encode('utf-8', 'replace')).decode()}?="


def _messages(response: http.client.HTTPResponse) -> Iterator[Any]:
    """The JSON-RPC messages of a response. Raises Unreachable with what the service says instead."""
    kind = (response.getheader("Content-Type") or "").partition(";")[0].strip().lower()
    if kind == "text/event-stream":
        yield from _events(response)
        return
    body = response.read()
    if not body and response.status < 300:
        return
    try:
        answer = json.loads(body)
    except ValueError:
        raise Unreachable(f"The memory service answered {response.status} with what is no JSON.") from None
    if isinstance(answer, dict) and "jsonrpc" not in answer:
        raise Unreachable(str(answer.get("detail") or f"The memory service answered {response.status}."))
    yield answer


def _events(response: http.client.HTTPResponse) -> Iterator[Any]:
    data: list[bytes] = []
    for line in response:
        text = line.rstrip(b"\r\n")
        if text.startswith(b"data:"):
            data.append(text[5:].removeprefix(b" "))
        elif not text and data:
            if b"".join(data).strip():
                yield json.loads(b"\n".join(data))
            data = []
