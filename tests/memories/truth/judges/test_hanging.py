"""A server that hangs, drips or is slow costs nobody more time than they have."""

import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("openai", reason="needs the openai package: pip install 'memsite[remote]'")
from memories.truth.judges import JudgeAway, JudgeFailed, http
from memories.truth.judges.http import HttpJudge
from tests.memories.embedders.openai_server import Answer, Server
from tests.memories.truth.judges.chats import CASE, closed, completion, ready, said, verdict
from tests.service import until


class Hanging:
    """A server that takes a request and then sends `drip` for ever, a piece at a time."""

    def __init__(self, drip: bytes) -> None:
        self.drip, self.over, self.taken = drip, threading.Event(), 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.threads = [threading.Thread(target=self._accept, daemon=True)]
        self.threads[0].start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.listener.getsockname()[1]}/v1"

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.taken += 1
            self.threads.append(threading.Thread(target=self._serve, args=(connection,), daemon=True))
            self.threads[-1].start()

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            try:
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n" if self.drip else b"")
                while not self.over.wait(0.02):
                    connection.sendall(self.drip)
            except OSError:
                return

    def end(self) -> None:
        self.over.set()
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for thread in self.threads:
            thread.join(5)


@pytest.fixture(params=[b"", b"\r\n ", b"X: y\r\n"], ids=["silent", "dripping body", "dripping headers"])
def hanging(request: pytest.FixtureRequest) -> Iterator[Hanging]:
    server = Hanging(request.param)
    yield server
    server.end()


def test_nobody_waits_longer_than_they_want_to_for_a_server_that_hangs(hanging: Hanging) -> None:
    judge = ready(hanging.url)
    started = time.monotonic()
    with pytest.raises(JudgeFailed):
        judge.rule(CASE, patience=1)
    assert 0.9 < time.monotonic() - started < 5
    asked_again = time.monotonic()
    for patience in (0.99, 1, 1.001):
        with pytest.raises(JudgeAway):
            judge.rule(CASE, patience=patience)
    assert time.monotonic() - asked_again < 2, "who has no more time does not wait in vain again"
    assert hanging.taken == 1
    hanging.over.set()
    until(lambda: not any(thread.name == "judge" for thread in threading.enumerate()))
    closed(judge)


def test_calls_do_not_pile_up_behind_a_server_that_hangs() -> None:
    hanging = Hanging(b"X: y\r\n")
    judge = ready(hanging.url)
    for attempt in range(http.AT_ONCE + 3):
        with pytest.raises(JudgeFailed):
            judge.rule(CASE, patience=0.5 + attempt / 10)
    assert hanging.taken == http.AT_ONCE
    hanging.end()
    until(lambda: not any(thread.name == "judge" for thread in threading.enumerate()))
    closed(judge)


def test_a_slow_verdict_is_dropped_and_a_patient_one_is_taken(judge: HttpJudge, server: Server) -> None:
    gate = threading.Event()

    def slowly(body: dict[str, Any]) -> Answer:
        gate.wait(10)
        return completion(verdict("contradiction"))

    server.then = [slowly, said(verdict("compatible"))]
    with pytest.raises(JudgeFailed):
        judge.rule(CASE, patience=0.2)
    gate.set()
    ruling = judge.rule(CASE, patience=10)
    assert ruling
    assert ruling.verdict == "rejected", "the answer belongs to the question"
