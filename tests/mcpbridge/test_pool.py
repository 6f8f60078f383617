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
    monkeypatch.setattr(pool, "READERS", 1)
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


def test_those_who_read_do_not_wait_for_those_who_write() -> None:
    free = threading.Event()

    async def both() -> tuple[int, int]:
        writing = asyncio.create_task(pool.write(free.wait, 30))
        read = await pool.run(int)
        free.set()
        return read, await writing

    assert asyncio.run(both()) == (0, True)


def test_writes_run_one_after_the_other() -> None:
    async def several() -> set[int]:
        return set(await asyncio.gather(*(pool.write(threading.get_ident) for _ in range(20))))

    assert len(asyncio.run(several())) == 1


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
    assert asyncio.run(pool.write(int)) == 0
    assert [record.levelno for record in caplog.records] == [logging.ERROR]


def test_shutdown_waits_no_longer_than_it_was_told() -> None:
    free = threading.Event()
    pool.soon(free.wait)
    ending = pool._writer()
    began = time.monotonic()
    assert not pool.shutdown(0.05)
    assert time.monotonic() - began < 2
    free.set()
    ending.shutdown(wait=True)


def test_the_pool_can_be_used_again_after_a_shutdown() -> None:
    call(raw_connection)
    assert pool.shutdown(5)
    assert call(int) == 0


def test_a_file_that_may_be_written_again_is_opened_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    path.touch()
    monkeypatch.setitem(connection.settings_dict, "NAME", str(path))
    may_write = False
    monkeypatch.setattr(pool.os, "access", lambda *_: may_write)
    first = call(raw_connection)
    assert call(raw_connection) is first
    may_write = True
    assert call(raw_connection) is not first
