"""A server by itself on standard input and output, for when no service runs."""

import contextlib
import io
import json
from collections.abc import AsyncIterator, Callable
from typing import IO

import anyio

from mcpbridge import acting
from mcpbridge.caller import Caller, caller, here
from mcpbridge.server import greeter
from mcpbridge.stdio import Wire
from memories import surrogates
from memories.principal import ANYONE

GREETINGS = {"initialize", "server/discover"}
POOL_GRACE_SECONDS = 1.0


class _Lines(anyio.AsyncFile[str]):
    """What the client sends. Whatever is no greeting waits until `prepare` has returned in a thread."""

    def __init__(self, file: IO[str], prepare: Callable[[], None]) -> None:
        super().__init__(file)
        self._prepare = prepare
        self.is_prepared = False

    async def __aiter__(self) -> AsyncIterator[str]:
        async for line in super().__aiter__():
            if not (self.is_prepared or _greets(line)):
                await anyio.to_thread.run_sync(self._prepare)
                self.is_prepared = True
            yield surrogates.repaired(line.encode()).decode()


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

    lines = _Lines(io.TextIOWrapper(wire.input, encoding="utf-8", errors="replace"), prepare)
    answers = anyio.wrap_file(io.TextIOWrapper(io.BufferedWriter(wire.output), encoding="utf-8"))
    with contextlib.suppress(BrokenPipeError):  # the client left while it was answered
        anyio.run(server.serve_lines, lines, answers)
    if lines.is_prepared:
        from mcpbridge import pool  # noqa: PLC0415 - works on the database

        pool.shutdown(POOL_GRACE_SECONDS)


def _greets(line: str) -> bool:
    try:
        message = json.loads(line)
    except ValueError:
        return False
    return isinstance(message, dict) and message.get("method") in GREETINGS
