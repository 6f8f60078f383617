"""A server by itself on standard input and output, for when no service runs."""

import contextlib
import io
import json
from collections.abc import AsyncIterator, Callable
from typing import IO, Any

import anyio

from mcpbridge import acting
from mcpbridge.caller import Caller, caller, here
from mcpbridge.proxy import LAST_SECONDS
from mcpbridge.server import greeter
from mcpbridge.stdio import Wire
from memories import surrogates
from memories.principal import ANYONE

GREETINGS = {"initialize", "server/discover"}
POOL_GRACE_SECONDS = 1.0


class _Answers(anyio.AsyncFile[str]):
    """What the client is told."""

    def __init__(self, file: IO[str]) -> None:
        super().__init__(file)
        self._written = self._sent = 0
        self._more_sent = anyio.Event()

    async def write(self, line: str) -> int:
        self._written += "id" in json.loads(line)
        return await super().write(line)

    async def flush(self) -> None:
        await super().flush()
        self._sent = self._written
        self._more_sent.set()

    async def wait_for(self, count: int) -> None:
        """Until so many requests are answered."""
        while self._sent < count:
            self._more_sent = anyio.Event()
            await self._more_sent.wait()


class _Lines(anyio.AsyncFile[str]):
    """What the client sends. Whatever is no greeting waits until `prepare` has returned in a thread.

    The end comes once all requests are answered, or the client has waited for long.
    """

    def __init__(self, file: IO[str], answers: _Answers, prepare: Callable[[], None]) -> None:
        super().__init__(file)
        self._answers, self._prepare = answers, prepare
        self.is_prepared = False

    async def __aiter__(self) -> AsyncIterator[str]:
        asked = 0
        async for line in super().__aiter__():
            message = _message(line)
            if not (self.is_prepared or message.get("method") in GREETINGS):
                await anyio.to_thread.run_sync(self._prepare)
                self.is_prepared = True
            asked += {"id", "method"} <= message.keys()
            yield surrogates.repaired(line.encode()).decode()
        with anyio.move_on_after(LAST_SECONDS):
            await self._answers.wait_for(asked)


def serve(wire: Wire, *, version: str, set_up: Callable[[], None]) -> None:
    """Serve the user that started this process until input ends.

    The client is greeted at once; after that, `set_up` is called in a thread and makes Django and the database ready.
    """
    acting.principal.set(ANYONE)
    caller.set(Caller(here()))
    server = greeter(version=version)

    def prepare() -> None:
        set_up()
        server.offer(alone=True)

    answers = _Answers(io.TextIOWrapper(io.BufferedWriter(wire.output), encoding="utf-8"))
    lines = _Lines(io.TextIOWrapper(wire.input, encoding="utf-8", errors="replace"), answers, prepare)
    with contextlib.suppress(BrokenPipeError):  # the client left while it was answered
        anyio.run(server.serve_lines, lines, answers)
    if lines.is_prepared:
        from mcpbridge import pool  # noqa: PLC0415 - works on the database

        pool.shutdown(POOL_GRACE_SECONDS)


def _message(line: str) -> dict[str, Any]:
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return message if isinstance(message, dict) else {}
