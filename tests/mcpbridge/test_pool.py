import asyncio
import contextvars
import logging
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import IntegrityError, OperationalError, connection, transaction

from mcpbridge import pool
from memories.models import ProjectAlias

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def own_pool(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    pool.shutdown(5)
    monkeypatch.setattr(pool, "THREADS", 1)
    yield
    assert pool.shutdown(5)


def call[**P, T](function: "pool.Callable[P, T]", *args: P.args, **kwargs: P.kwargs) -> T:
    return asyncio.run(pool.run(function, *args, **kwargs))


def raw_connection() -> object:
    connection.ensure_connection()
    return connection.connection


def test_a_call_gets_its_arguments_and_returns_its_result() -> None:
    assert call(sorted, [2, 3, 1], reverse=True) == [3, 2, 1]


def test_calls_run_in_a_few_threads_that_are_not_the_caller() -> None:
    async def several() -> set[int]:
        return set(await asyncio.gather(*(pool.run(threading.get_ident) for _ in range(20))))

    threads = asyncio.run(several())
    assert len(threads) == 1
    assert threading.get_ident() not in threads


def test_context_variables_of_the_caller_are_seen_and_not_changed() -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable")
    variable.set("mine")

    def change() -> str:
        found = variable.get()
        variable.set("theirs")
        return found

    assert call(change) == "mine"
    assert variable.get() == "mine"


def test_connections_are_kept_between_calls() -> None:
    assert call(raw_connection) is call(raw_connection)


def test_an_error_reaches_the_caller() -> None:
    with pytest.raises(ZeroDivisionError):
        call(lambda: 1 // 0)


def test_a_connection_is_closed_after_a_database_error() -> None:
    def fail() -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT * FROM nowhere")

    with pytest.raises(OperationalError):
        call(fail)
    assert not call(lambda: connection.connection)


def test_a_broken_rule_is_no_reason_to_close() -> None:
    def break_a_rule() -> object:
        with pytest.raises(IntegrityError):
            ProjectAlias.objects.create(scope=None, alias="a", project="p")
        return connection.connection

    assert call(break_a_rule) is call(raw_connection)


def test_a_forgotten_transaction_does_not_reach_the_next_call() -> None:
    def leave_open() -> None:
        transaction.atomic().__enter__()
        ProjectAlias.objects.create(scope="s", alias="a", project="p")

    call(leave_open)
    assert call(ProjectAlias.objects.count) == 0
    assert not call(lambda: connection.in_atomic_block)


def test_a_forgotten_raw_transaction_does_not_reach_the_next_call() -> None:
    def leave_open() -> None:
        with connection.cursor() as cursor:
            cursor.execute("BEGIN IMMEDIATE")

    call(leave_open)
    assert not call(lambda: connection.connection)


def test_a_replaced_database_file_is_opened_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("first.db", "second.db"):
        monkeypatch.setitem(connection.settings_dict, "NAME", tmp_path / name)
        connection.close()
        with connection.cursor() as cursor:
            cursor.execute("CREATE TABLE place (name TEXT)")
            cursor.execute("INSERT INTO place VALUES (%s)", [name])
    connection.close()

    def place() -> str:
        with connection.cursor() as cursor:
            return str(cursor.execute("SELECT name FROM place").fetchone()[0])

    monkeypatch.setitem(connection.settings_dict, "NAME", tmp_path / "first.db")
    assert call(place) == "first.db"
    for suffix in ("-wal", "-shm"):
        (tmp_path / f"first.db{suffix}").unlink(missing_ok=True)
    (tmp_path / "second.db").replace(tmp_path / "first.db")
    assert call(place) == "second.db"


def test_a_background_call_that_fails_is_logged_only(caplog: pytest.LogCaptureFixture) -> None:
    pool.soon(lambda: 1 // 0)
    assert call(int) == 0
    assert [record.levelno for record in caplog.records] == [logging.ERROR]


def test_shutdown_waits_no_longer_than_it_was_told() -> None:
    free = threading.Event()
    pool.soon(free.wait)
    ending = pool._executor
    began = time.monotonic()
    assert not pool.shutdown(0.05)
    assert time.monotonic() - began < 2
    free.set()
    assert ending is not None
    ending.shutdown(wait=True)


def test_the_pool_can_be_used_again_after_a_shutdown() -> None:
    call(raw_connection)
    assert pool.shutdown(5)
    assert call(int) == 0


def test_the_overhead_of_a_call_is_small() -> None:
    async def measure() -> float:
        times = []
        for _ in range(300):
            began = time.perf_counter()
            await pool.run(int)
            times.append(time.perf_counter() - began)
        return sorted(times)[len(times) // 2]

    assert asyncio.run(measure()) < 0.001  # 0.11 ms on a quiet machine
