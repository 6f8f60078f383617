"""A server that speaks the part of OpenAI's API that embeds: POST /v1/embeddings."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

type Answer = tuple[int, bytes]
type Answering = Callable[[dict[str, Any]], Answer]


def direction(text: str, dimension: int) -> list[float]:
    """A vector that tells texts apart."""
    total = sum(text.encode()) + 1
    return [float(total % (7 + at)) + 1 for at in range(dimension)]


def good(body: dict[str, Any], *, dimension: int = 4) -> Answer:
    """The rows in reverse: their order is in `index`."""
    rows = [
        {"object": "embedding", "index": at, "embedding": direction(text, dimension)}
        for at, text in enumerate(body["input"])
    ]
    answer = {
        "object": "list",
        "data": rows[::-1],
        "model": body["model"],
        "usage": {"prompt_tokens": 1, "total_tokens": 1},
    }
    return 200, json.dumps(answer).encode()


class Server(ThreadingHTTPServer):
    """What was asked of it, and how it answers the next ones: `then` in order, the last for ever."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.then: list[Answering] = [good]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    @property
    def sizes(self) -> list[int]:
        return [len(body["input"]) for body in self.asked]

    def handle_error(self, *_: object) -> None:
        """A client that waits no longer is what some tests are about."""


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append(body)
        self.server.headers.append({name.lower(): value for name, value in self.headers.items()})
        self.server.paths.append(self.path)
        answering = self.server.then.pop(0) if len(self.server.then) > 1 else self.server.then[0]
        status, content = answering(body)
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Tests print nothing."""


@contextmanager
def served() -> Iterator[Server]:
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join(5)
