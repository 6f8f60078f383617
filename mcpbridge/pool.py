"""The few threads in which REST and MCP run synchronous domain code, each with its own kept connection.

One of them is for frequent short writes: SQLite has one writer, waiting in line is cheaper than polling for its lock,
and who asks never waits behind those who wait to write.

Django closes connections at the end of a request; there is none here, and reopening costs 0.45 ms. So the pool keeps
them and tidies them itself: closed when broken, when left inside a transaction, when the file was replaced, or when it
may be written now and could not be before.
"""

import asyncio
import contextvars
import functools
import logging
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.base.base import BaseDatabaseWrapper

READERS = 4
"""More would only wait for the interpreter."""

logger = logging.getLogger(__name__)

type FileId = tuple[int, int, bool] | None


class _Seen(threading.local):
    """The database file as this thread saw it before its last call."""

    file: FileId = None


_seen = _Seen()
_lock = threading.Lock()
_executors: dict[str, ThreadPoolExecutor] = {}
_connections: list[BaseDatabaseWrapper] = []


async def run[**P, T](function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a synchronous function in a thread that reads, with this task's context variables."""
    return await _call(_readers(), functools.partial(function, *args, **kwargs))


async def write[**P, T](function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a short function that writes in the thread for that, with this task's context variables."""
    return await _call(_writer(), functools.partial(function, *args, **kwargs))


def soon[**P](function: Callable[P, object], /, *args: P.args, **kwargs: P.kwargs) -> None:
    """Call a function that writes without waiting for it; a failure is logged and nothing else."""
    _writer().submit(_quietly, functools.partial(_tidily, function, *args, **kwargs))


def shutdown(wait_seconds: float) -> bool:
    """End the threads: waiting calls are dropped. False if running ones have not ended after `wait_seconds`."""
    with _lock:
        ending, opened = list(_executors.values()), _connections[:]
        _executors.clear()
        _connections.clear()
    for executor in ending:
        executor.shutdown(wait=False, cancel_futures=True)
    deadline = time.monotonic() + wait_seconds
    # shutdown() has no time limit of its own
    threads = [thread for executor in ending for thread in executor._threads]  # noqa: SLF001
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    if any(thread.is_alive() for thread in threads):
        return False
    for connection in opened:
        connection.inc_thread_sharing()
        connection.close()
    return True


async def _call[T](executor: ThreadPoolExecutor, function: Callable[[], T]) -> T:
    call = functools.partial(contextvars.copy_context().run, _tidily, function)
    return await asyncio.get_running_loop().run_in_executor(executor, call)


def _readers() -> ThreadPoolExecutor:
    return _executor("memory-reader", READERS)


def _writer() -> ThreadPoolExecutor:
    return _executor("memory-writer", 1)


def _executor(name: str, threads: int) -> ThreadPoolExecutor:
    """Made by the process that uses it: gunicorn forks."""
    with _lock:
        if name not in _executors:
            _executors[name] = ThreadPoolExecutor(threads, name, initializer=_enlist)
        return _executors[name]


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
    """Device, inode, and whether it may be written: what SQLite opened read-only stays so."""
    if connection.vendor != "sqlite" or _in_memory(connection):
        return None
    name = connection.settings_dict["NAME"]
    try:
        status = os.stat(name)  # noqa: PTH116 - before every call, and Path is slow
    except OSError:
        return None
    return status.st_dev, status.st_ino, os.access(name, os.W_OK)


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
