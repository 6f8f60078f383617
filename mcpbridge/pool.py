"""The few threads in which REST and MCP run synchronous domain code, each with its own kept connection.

Django closes connections at the end of a request; there is none here, and reopening costs 0.45 ms. So the
pool keeps them and tidies them itself: closed when broken, when left inside a transaction, or when the file
was replaced.
"""

import asyncio
import contextvars
import functools
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.base.base import BaseDatabaseWrapper

THREADS = 4
"""More would only wait for SQLite's one writer."""

logger = logging.getLogger(__name__)

type FileId = tuple[int, int] | None


class _Seen(threading.local):
    """The database file as this thread saw it before its last call."""

    file: FileId = None


_seen = _Seen()
_lock = threading.Lock()
_executor: ThreadPoolExecutor | None = None
_connections: list[BaseDatabaseWrapper] = []


async def run[**P, T](function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a synchronous function in a thread of the pool, with this task's context variables."""
    context = contextvars.copy_context()
    call = functools.partial(context.run, _tidily, function, *args, **kwargs)
    return await asyncio.get_running_loop().run_in_executor(_pool(), call)


def soon[**P](function: Callable[P, object], /, *args: P.args, **kwargs: P.kwargs) -> None:
    """Call a function in the pool without waiting for it; a failure is logged and nothing else."""
    _pool().submit(_quietly, functools.partial(_tidily, function, *args, **kwargs))


def shutdown(wait_seconds: float) -> bool:
    """End the pool: waiting calls are dropped. False if running ones have not ended after `wait_seconds`."""
    global _executor
    with _lock:
        ending, _executor = _executor, None
        opened = _connections[:]
        _connections.clear()
    if ending is None:
        return True
    ending.shutdown(wait=False, cancel_futures=True)
    deadline = time.monotonic() + wait_seconds
    threads = list(ending._threads)  # noqa: SLF001 - shutdown() has no time limit of its own
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    if any(thread.is_alive() for thread in threads):
        return False
    for connection in opened:
        connection.inc_thread_sharing()
        connection.close()
    return True


def _pool() -> ThreadPoolExecutor:
    global _executor  # noqa: PLW0603 - one pool a process, made by the process that uses it (gunicorn forks)
    with _lock:
        if _executor is None:
            _executor = ThreadPoolExecutor(THREADS, "memory-pool", initializer=_enlist)
        return _executor


def _enlist() -> None:
    with _lock:
        _connections.append(connections[DEFAULT_DB_ALIAS])


def _quietly(call: Callable[[], object]) -> None:
    try:
        call()
    except Exception:
        logger.exception("A background call failed")


def _tidily[**P, T](function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    connection = connections[DEFAULT_DB_ALIAS]
    file = _file(connection)
    if connection.connection is not None and (connection.errors_occurred or file != _seen.file):
        _close(connection)
    # Remembered before the call: a file replaced during it differs next time.
    _seen.file = file
    connection.queries_log.clear()
    try:
        return function(*args, **kwargs)
    finally:
        if connection.connection is not None and (connection.errors_occurred or _in_transaction(connection)):
            _close(connection)


def _file(connection: BaseDatabaseWrapper) -> FileId:
    if connection.vendor != "sqlite" or _in_memory(connection):
        return None
    try:
        status = Path(connection.settings_dict["NAME"]).stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _in_memory(connection: BaseDatabaseWrapper) -> bool:
    name = str(connection.settings_dict["NAME"])
    return name == ":memory:" or "mode=memory" in name


def _in_transaction(connection: BaseDatabaseWrapper) -> bool:
    raw: Any = connection.connection
    return connection.in_atomic_block or bool(getattr(raw, "in_transaction", False))


def _close(connection: BaseDatabaseWrapper) -> None:
    """Close for good; Django would refuse to reopen a connection that was closed inside an atomic block."""
    connection.in_atomic_block = False
    connection.close()
