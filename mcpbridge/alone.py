"""A server by itself on standard input and output, for when no service runs."""

import contextlib
import io

import anyio

from mcpbridge import acting, pool
from mcpbridge.server import build
from mcpbridge.stdio import Wire
from memories.principal import ANYONE

POOL_GRACE_SECONDS = 1.0


def serve(wire: Wire, *, version: str) -> None:
    """Serve the user that started this process until input ends. Django must be set up."""
    acting.principal.set(ANYONE)
    server = build(version=version, alone=True)
    lines = io.TextIOWrapper(wire.input, encoding="utf-8", errors="replace")
    answers = io.TextIOWrapper(io.BufferedWriter(wire.output), encoding="utf-8")
    with contextlib.suppress(BrokenPipeError):  # the client left while it was answered
        anyio.run(server.serve_lines, lines, answers)
    pool.shutdown(POOL_GRACE_SECONDS)
