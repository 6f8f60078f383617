"""Threads beside the service."""

import threading
from collections.abc import Callable

import pytest
from django.db import connection

from memories import accesses
from memories.models import Memory
from memsite import background, maintenance


def test_an_error_is_logged_and_ends_nothing(caplog: pytest.LogCaptureFixture) -> None:
    background.logged(lambda: 1 // 0, name="dividing")()
    assert "dividing" in caplog.text
    assert "ZeroDivisionError" in caplog.text


def test_work_begins_once_it_may() -> None:
    asked, done = [False, True], threading.Event()
    background.start(done.set, name="test", when=lambda: asked.pop(0))
    assert done.wait(20)
    assert not asked


@pytest.mark.django_db(transaction=True)
def test_recalls_are_counted_by_a_thread_that_leaves_no_connection_open(
    remembered: Callable[..., Memory], monkeypatch: pytest.MonkeyPatch
) -> None:
    accesses.keep()  # what other tests recalled
    kept, opened = remembered("The parrot is green."), []
    real = accesses.keep

    def keep() -> int:
        if opened:
            raise SystemExit  # ends the thread
        done = real()
        opened.append(connection.connection)
        accesses.something_noted.set()
        return done

    monkeypatch.setattr(accesses, "keep", keep)
    monkeypatch.setattr(maintenance, "COUNT_EVERY_SECONDS", 0)
    after: list[object] = []

    def counting() -> None:
        try:
            maintenance.count_accesses_for_ever()
        except SystemExit:
            after.append(connection.connection)

    accesses.note([kept.pk])
    thread = threading.Thread(target=counting)
    thread.start()
    thread.join(20)
    assert not thread.is_alive()
    kept.refresh_from_db()
    assert kept.access_count == 1
    assert opened[0] is not None
    assert after == [None]
