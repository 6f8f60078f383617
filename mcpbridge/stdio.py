"""`memory-mcp --stdio`: the protocol on standard input and output, and nothing else on them.

With a live service on the same database its lines are passed on; without one this process is the server.
"""

import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NoReturn

from mcpbridge.proxy import Live, Proxy

WATCH_SECONDS = 0.5

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Wire:
    """The two streams on which the client speaks, apart from this process's own standard streams."""

    input: BinaryIO
    output: BinaryIO


def claim() -> Wire:
    """Keep standard input and output for the protocol: from now on whatever prints does so on standard error."""
    wire = Wire(os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb", buffering=0))
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    return wire


def run(wire: Wire, find: Callable[[], Live | None], serve_alone: Callable[[Wire], None]) -> NoReturn:
    """Speak MCP until the client leaves, it dies, or a signal comes; `serve_alone` serves in this process."""
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    signal.signal(signal.SIGINT, lambda *_: os._exit(0))
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    try:
        if find() is None:
            serve_alone(wire)
        else:
            Proxy(find, _writer(wire.output)).run(wire.input)
    except Exception:
        logger.exception("The server on standard input failed")
        leave(1)
    leave(0)


def leave(code: int) -> NoReturn:
    """End at once: a thread may be waiting for input that never comes."""
    sys.stderr.flush()
    os._exit(code)


def _writer(output: BinaryIO) -> Callable[[bytes], None]:
    lock = threading.Lock()

    def write(line: bytes) -> None:
        rest = memoryview(line)
        with lock:
            try:
                while rest:
                    rest = rest[output.write(rest) :]
            except BrokenPipeError:
                os._exit(0)

    return write


def _leave_with_parent() -> None:
    """A client that was killed may leave a write end of our input open in another process."""
    parent = os.getppid()
    while os.getppid() == parent:
        time.sleep(WATCH_SECONDS)
    os._exit(0)
