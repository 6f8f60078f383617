"""A request to the guard, and what it and the app behind it say."""

import asyncio
import json
from dataclasses import dataclass, field

from memories.principal import Principal
from memsite.guard import Guard, Message, Receive, Refused, Scope, Send, identify, send_problem

JSON = {"content-type": "application/json"}


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
    """An app that asks for whom it works, reads its whole body and says so."""
    try:
        scope["seen"].principal = identify(scope)
    except Refused as refused:
        await send_problem(send, refused)
        return
    length = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ConnectionError
        length += len(message.get("body", b""))
        if not message.get("more_body"):
            break
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
