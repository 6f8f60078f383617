"""The vector channel: every passage vector of one model in memory, searched exactly.

Each process holds its own matrix. The table of changes, which triggers fill, tells what other processes wrote; before
each search only that is read. Rows are never moved while others search: an old version of a memory is struck out, its
new one appended, and when much is struck out the matrix is made anew.
"""

import threading
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import batched, islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from django.db import connection

from memories import search
from memories.conf import config
from memories.embedders import Vectors
from memories.search import Place

GROWTH = 1.5
SMALLEST = 256
MOST_STRUCK_OUT = 0.25
AT_ONCE = 500
"""Changed memories that are read by one statement; more than this many times ten are read by reading everything."""
STRUCK_OUT = -1

type Accept = Callable[[Collection[int]], frozenset[int]]


@dataclass(frozen=True)
class Close:
    """A memory near to a query: the cosine of its nearest passage, where that stands in the text, and of how many."""

    id: int
    cosine: float
    start: int
    end: int
    passages: int = 1


class Scored:
    """The cosine of every passage with one query."""

    def __init__(self, cosines: Vectors, rows: "_Rows", size: int) -> None:
        self._cosines, self._rows, self._size = cosines, rows, size

    def best(
        self, places: Collection[Place], *, superseded: bool, floor: float, limit: int, accept: Accept
    ) -> list[Close]:
        """The nearest memories of some places, nearest first; `accept` says which of them may be found."""
        rows = self._rows
        seen = rows.memory[: self._size] != STRUCK_OUT
        seen &= self._cosines >= floor
        if not superseded:
            seen &= ~rows.superseded[: self._size]
        codes = [code for place in places if (code := rows.codes.get(place)) is not None]
        seen &= np.isin(rows.place[: self._size], codes)
        found: dict[int, Close] = {}
        order = self._nearest_first(np.flatnonzero(seen), 4 * limit)
        size = 4 * limit
        while batch := list(islice(order, size)):
            size *= 2  # the filters leave out much: ask seldom
            nearest: dict[int, Close] = {}
            for row in batch:
                close = self._at(int(row))
                if close.id not in found:
                    nearest.setdefault(close.id, close)
            allowed = accept(nearest) if nearest else frozenset()
            found |= {one: close for one, close in nearest.items() if one in allowed}
            if len(found) >= limit:
                break
        return list(found.values())[:limit]

    def of(self, ids: Collection[int]) -> dict[int, Close]:
        """The nearest passage of each of the memories that have one."""
        found: dict[int, Close] = {}
        for one in ids:
            rows = [row for row in self._rows.where.get(one, ()) if row < self._size]
            if rows:
                found[one] = self._at(rows[int(np.argmax(self._cosines[rows]))])
        return found

    def _nearest_first(self, rows: npt.NDArray[np.int64], first: int) -> Iterator[int]:
        """Rows by cosine, of equals the youngest memory first; only the first are sorted unless more are asked for."""
        cosines = self._cosines[rows]
        if len(rows) > first:
            least = np.partition(cosines, len(rows) - first)[len(rows) - first]
            yield from self._sorted(rows[cosines >= least])
            rows = rows[cosines < least]
        yield from self._sorted(rows)

    def _sorted(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        return rows[np.lexsort((-self._rows.memory[rows], -self._cosines[rows]))]

    def _at(self, row: int) -> Close:
        rows, cosine = self._rows, float(self._cosines[row])
        memory = int(rows.memory[row])
        passages = len(rows.where.get(memory, ())) or 1  # none: it was struck out meanwhile
        return Close(memory, cosine, int(rows.start[row]), int(rows.end[row]), passages)


class _Rows:
    """Columns of equal length, of which the first `size` rows are in use."""

    def __init__(self, dimension: int, capacity: int) -> None:
        self.size = 0
        self.vectors: Vectors = np.empty((capacity, dimension), np.float32)
        self.memory = np.empty(capacity, np.int64)
        self.start = np.empty(capacity, np.int32)
        self.end = np.empty(capacity, np.int32)
        self.place = np.empty(capacity, np.int32)
        self.superseded = np.empty(capacity, np.bool_)
        self.codes: dict[Place, int] = {}
        self.where: dict[int, list[int]] = {}
        self.struck_out = 0

    def grown(self) -> "_Rows":
        """A copy with more room: those who search go on in the old one."""
        larger = _Rows(self.vectors.shape[1], max(SMALLEST, int(len(self.memory) * GROWTH)))
        for name in ("vectors", "memory", "start", "end", "place", "superseded"):
            getattr(larger, name)[: self.size] = getattr(self, name)[: self.size]
        larger.size, larger.codes, larger.where, larger.struck_out = self.size, self.codes, self.where, self.struck_out
        return larger

    def strike_out(self, memory: int) -> None:
        rows = self.where.pop(memory, [])
        self.memory[rows] = STRUCK_OUT
        self.struck_out += len(rows)


class Matrix:
    """The vectors of one model. `score` first reads what was written since the last time, by whichever process."""

    def __init__(self, model: str, dimension: int) -> None:
        self.model, self.dimension = model, dimension
        self._lock = threading.Lock()
        self._rows = _Rows(dimension, SMALLEST)
        self._seq = -1
        self._file: object = None
        self.full_reads = 0

    def places(self, scope: str) -> list[Place]:
        """Every place of a scope where there are vectors, as of the last `score`."""
        return [place for place in list(self._rows.codes) if place[0] == scope]

    def score(self, query: Vectors) -> Scored:
        with self._lock:
            self._refresh()
            rows, size = self._rows, self._rows.size
        return Scored(rows.vectors[:size] @ query.reshape(-1), rows, size)

    def _refresh(self) -> None:
        index = search.vendor(connection.vendor)
        first, last = index.changes()
        file = _file()
        behind = self._seq < first - 1
        if self._seq < 0 or behind or last < self._seq or file != self._file:
            self._read_all(index, last, file)
        elif last > self._seq:
            changed = index.changed_since(self._seq)
            if len(changed) > 10 * AT_ONCE or self._rows.struck_out > MOST_STRUCK_OUT * max(self._rows.size, SMALLEST):
                self._read_all(index, last, file)
                return
            for ids in batched(changed, AT_ONCE, strict=False):
                found = list(index.vectors(self.model, ids))  # first read: what fails leaves the matrix as it was
                for one in ids:
                    self._rows.strike_out(one)
                self._rows = _extended(self._rows, found)
            self._seq = last

    def _read_all(self, index: Any, last: int, file: object) -> None:
        self._rows = _extended(_Rows(self.dimension, SMALLEST), index.vectors(self.model))
        self._seq, self._file = last, file
        self.full_reads += 1


def _extended(rows: _Rows, found: Iterable[tuple[int, int, int, str, str, bool, bytes]]) -> _Rows:
    """The rows with more vectors; another object if there was no room."""
    for memory, start, end, scope, project, superseded, vector in found:
        if len(vector) != 4 * rows.vectors.shape[1]:
            continue
        if rows.size == len(rows.memory):
            rows = rows.grown()
        row = rows.size
        rows.vectors[row] = np.frombuffer(vector, "<f4")
        rows.memory[row], rows.start[row], rows.end[row] = memory, start, end
        rows.place[row] = rows.codes.setdefault((scope, project), len(rows.codes))
        rows.superseded[row] = superseded
        rows.where.setdefault(memory, []).append(row)
        rows.size += 1
    return rows


_matrices: dict[str, Matrix] = {}
_lock = threading.Lock()


def matrix(model: str, dimension: int) -> Matrix:
    """The matrix of a model in this process; that of another model is let go."""
    with _lock:
        found = _matrices.get(model)
        if found is None or found.dimension != dimension:
            _matrices.clear()
            found = _matrices[model] = Matrix(model, dimension)
        return found


def _file() -> object:
    """What tells a database file from another one that took its place."""
    path: Path = config().database
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino
