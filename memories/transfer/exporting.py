"""All that is kept, as lines of the archive or of a table; a row at a time, as one moment saw it."""

import csv
from collections.abc import Generator, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection
from django.db.models import Exists, OuterRef, Subquery

from memories import clock, search
from memories.errors import Rejected
from memories.models import Conflict, Memory
from memories.places import label
from memories.principal import ANYONE, Principal
from memories.querysets import MemoryQuerySet
from memories.transfer import archive, table

FORMATS = ("jsonl", "csv")
AT_ONCE = 50
"""Rows that are in memory at the same time; one may have two million characters."""


@dataclass(frozen=True, kw_only=True)
class Extent:
    """What to export: everything, a scope, a project of it or of all. `project` "" is what belongs to no project.

    Only what is in reach of the principal.
    """

    scope: str = ""
    project: str | None = None
    principal: Principal = ANYONE

    def memories(self, now: datetime) -> MemoryQuerySet:
        """Live and superseded; what is forgotten or expired never leaves."""
        found = Memory.objects.filter(deleted_at=None).unexpired(now)
        if self.scope:
            found = found.in_scope(self.principal.scope(label(self.scope, name="scope"), default=""))
        elif self.principal.scopes:
            found = found.filter(scope__in=self.principal.scopes)
        if self.project is not None:
            found = found.filter(project=label(self.project, name="project"))
        return found


def count(extent: Extent) -> int:
    return extent.memories(clock.now()).count()


def export(extent: Extent, *, format: str = "jsonl") -> Generator[str]:  # noqa: A002 - as the option is called
    """The lines of an export. Close the iterator if it is not read to its end: it holds a state of the database."""
    if format not in FORMATS:
        raise Rejected(f"format {format[:40]!r} is unknown; it is one of {', '.join(FORMATS)}.")
    return _in_one_state(_archive(extent, now=clock.now()) if format == "jsonl" else _table(extent, now=clock.now()))


def _in_one_state(lines: Iterator[str]) -> Generator[str]:
    with nullcontext() if connection.in_atomic_block else search.vendor(connection.vendor).snapshot():
        yield from lines


def _archive(extent: Extent, *, now: datetime) -> Iterator[str]:
    yield archive.header(archive.HISTORY)
    memories = extent.memories(now)
    for memory, successor in _rows(memories):
        yield archive.memory_line(memory, successor=successor)
    both = [Exists(memories.filter(pk=OuterRef(side))) for side in ("older", "newer")]  # IN would read every memory
    pairs = Conflict.objects.filter(*both).select_related("older", "newer")
    sides = [f"{side}__{name}" for side in ("older", "newer") for name in ("content", "segments")]
    for conflict in pairs.defer(*sides).order_by("pk").iterator(AT_ONCE):
        yield archive.conflict_line(conflict)


def _table(extent: Extent, *, now: datetime) -> Iterator[str]:
    writer: Any = csv.writer(_Lines(), quoting=csv.QUOTE_ALL)
    yield writer.writerow(table.COLUMNS)
    for memory, successor in _rows(extent.memories(now)):
        yield writer.writerow(table.row(memory, successor=successor))


class _Lines:
    """A file for csv.writer, which then returns each line."""

    def write(self, line: str) -> str:
        return line


def _rows(memories: MemoryQuerySet) -> Iterator[tuple[Memory, str]]:
    """Each memory in the order of storing, with the uid of the next of its versions that is exported too."""
    next_one = memories.filter(pk=OuterRef("superseded_by")).order_by().values("uid")
    rows = memories.annotate(successor=Subquery(next_one)).defer("segments").order_by("pk")
    for memory in rows.iterator(AT_ONCE):
        yield memory, memory.successor or _over_the_gap(memory, memories)


def _over_the_gap(memory: Memory, memories: MemoryQuerySet) -> str:
    """Where the next version is not exported, the first one after it that is, as a purge would close the chain."""
    seen = {memory.pk}
    following = memory.superseded_by_id
    while following and following not in seen:
        seen.add(following)
        uid = memories.filter(pk=following).values_list("uid", flat=True).first()
        if uid:
            return str(uid)
        following = Memory.objects.filter(pk=following).values_list("superseded_by", flat=True).first()
    return ""
