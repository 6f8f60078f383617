"""A language model as far as opencode can tell: it says what it is made to say and remembers what it was sent."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SHELL = "please run: "
"""A prompt that begins so makes the model call the shell tool with the rest of the line."""


class Model:
    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    @property
    def turns(self) -> list[list[dict[str, Any]]]:
        """The messages of each request that had tools: neither titles nor summaries."""
        return [request["messages"] for request in self.requests if request.get("tools")]

    @property
    def last_prompt(self) -> str:
        return text(next(message for message in reversed(self.turns[-1]) if message["role"] == "user"))

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        self.requests.append(request)
        last = request["messages"][-1]
        prompt = text(last).partition("\n")[0]
        if request.get("tools") and last["role"] == "user" and prompt.startswith(SHELL):
            arguments = json.dumps({"command": prompt.removeprefix(SHELL), "description": "as asked"})
            call = {
                "index": 0,
                "id": "call_1",
                "type": "function",
                "function": {"name": "bash", "arguments": arguments},
            }
            return {"delta": {"role": "assistant", "tool_calls": [call]}, "finish_reason": "tool_calls"}
        return {"delta": {"role": "assistant", "content": "All right."}, "finish_reason": "stop"}

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def text(message: dict[str, Any]) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)


def _handler(model: Model) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            choice = {"index": 0, **model.answer(request)}
            chunk = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "mock"}
            usage = {"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 105}
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            for event in ({**chunk, "choices": [choice]}, {**chunk, "choices": [], "usage": usage}):
                self.wfile.write(f"data: {json.dumps(event)}\n\n".encode())
            self.wfile.write(b"data: [DONE]\n\n")

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name in the base class
            pass

    return Handler
