"""Rows a second: over HTTP from client processes, and the same inserts by plain sqlite3 in this process."""

import hashlib
import multiprocessing
import sqlite3
import time
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

from service import Client
from texts import Text

TABLE = "memories_memory"


@dataclass(frozen=True)
class Sent:
    """What one batch of writes over HTTP came to."""

    rate: float
    uids: frozenset[str]
    statuses: Counter[str]


def send(url: str, batch: Sequence[Text], clients: int) -> Sent:
    """Ingest `batch` from as many processes, which all begin at the same moment."""
    spawn = multiprocessing.get_context("spawn")
    barrier = spawn.Barrier(clients)
    results = spawn.SimpleQueue()
    processes = [
        spawn.Process(target=_client, args=(url, list(batch[number::clients]), barrier, results))
        for number in range(clients)
    ]
    for process in processes:
        process.start()
    parts = [results.get() for _ in processes]
    for process in processes:
        process.join()
    failed = [error for *_, error in parts if error]
    if failed:
        raise RuntimeError(failed[0])
    seconds = max(end for _, end, _, _ in parts) - min(start for start, _, _, _ in parts)
    answers = [answer for _, _, some, _ in parts for answer in some]
    uids = frozenset(uid for status, uid in answers if status == "created")
    return Sent(len(batch) / seconds, uids, Counter(status for status, _ in answers))


def _client(url: str, batch: Sequence[Text], barrier: Barrier, results: Any) -> None:
    """Answers (start, end, [(status, uid)], error); the monotonic clock is the same in all processes."""
    try:
        with Client(url) as client:
            client.get("/health")
            barrier.wait(60)
            start = time.monotonic()
            answers = [client.post("/ingest", _body(text)) for text in batch]
            end = time.monotonic()
        results.put((start, end, [(answer["status"], answer["uid"]) for answer in answers], ""))
    except Exception as error:  # noqa: BLE001 - it must reach the process that waits
        results.put((0.0, 0.0, [], f"{type(error).__name__}: {error}"))


def _body(text: Text) -> dict[str, object]:
    return {"content": text.content, "project": text.project, "session": text.session, "source": "api"}


def copy_database(source: Path, target: Path) -> Path:
    """A consistent copy, whatever the WAL holds."""
    one, other = sqlite3.connect(source), sqlite3.connect(target)
    one.backup(other)
    one.close()
    other.close()
    return target


class PlainSqlite:
    """The product's own tables and triggers, filled by sqlite3: a transaction a row, the product's pragmas.

    All columns of a row are taken from a row that the product wrote; uid, text and hash are new.
    """

    def __init__(self, empty: Path, written_by_product: Path) -> None:
        self._database = sqlite3.connect(empty, isolation_level=None)
        for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "secure_delete=ON", "foreign_keys=ON"):
            self._database.execute(f"PRAGMA {pragma}")
        self._columns = [name for name in _columns(self._database) if name != "id"]
        self._template = _template(written_by_product, self._columns)
        self._insert = (
            f"INSERT INTO {TABLE} ({', '.join(self._columns)}) VALUES ({', '.join('?' * len(self._columns))})"
        )

    def close(self) -> None:
        self._database.close()

    def rate(self, batch: Sequence[Text]) -> float:
        start = time.monotonic()
        for text in batch:
            self._database.execute("BEGIN IMMEDIATE")
            self._database.execute(self._insert, self._row(text))
            self._database.execute("COMMIT")
        return len(batch) / (time.monotonic() - start)

    def _row(self, text: Text) -> list[object]:
        own = {
            "uid": uuid.uuid4().hex,
            "project": text.project,
            "session": text.session,
            "content": text.content,
            "content_hash": hashlib.sha256(text.content.encode()).hexdigest(),
        }
        return [own.get(name, self._template[name]) for name in self._columns]


def _columns(database: sqlite3.Connection) -> list[str]:
    """Those that can be written: generated ones are not in table_info."""
    return [row[1] for row in database.execute(f"PRAGMA table_info({TABLE})")]


def _template(path: Path, columns: Sequence[str]) -> dict[str, object]:
    database = sqlite3.connect(path)
    row = database.execute(f"SELECT {', '.join(columns)} FROM {TABLE} LIMIT 1").fetchone()
    database.close()
    return dict(zip(columns, row, strict=True))


def live_uids(path: Path) -> set[str]:
    database = sqlite3.connect(path)
    rows = database.execute(f"SELECT uid FROM {TABLE} WHERE deleted_at IS NULL AND valid_to IS NULL")
    found = {uid for (uid,) in rows}
    database.close()
    return found


def batches(stream: Iterator[Text], size: int) -> Iterator[list[Text]]:
    while True:
        yield [next(stream) for _ in range(size)]
