"""The SQLite file of another memory server, opened so that nothing of it or beside it changes.

No schema is known by name: a table whose columns are called like those of memories is one of memories.
"""

import contextlib
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import quote

from memories.errors import Rejected
from memories.transfer import foreign
from memories.transfer.foreign import Found
from memories.transfer.report import Flaw, Remark
from memories.transfer.source import Source

MAGIC = b"SQLite format 3\0"
PATIENCE_SECONDS = 5.0
_OURS = {"django_migrations", "memories_memory"}
_TELLING = frozenset({"kind", "tags", "project", "created", "session", "actor"})
_TABLES = ("memor", "note", "fact", "observation", "knowledge", "insight")
_PAST = ("history", "revision", "version", "archive", "deleted", "trash", "log", "audit", "queue", "change")
_SILENT = ("id", "uid", "uuid", "rowid", "updated_at", "metadata")
_WAL = slice(18, 20)
_NO_LOG = b"\x01\x01"
"""The bytes of the header that ask for a write-ahead log, or for none."""


@dataclass(frozen=True)
class _Table:
    name: str
    columns: tuple[str, ...]

    @property
    def holds_memories(self) -> bool:
        words = foreign.names_of(self.columns).keys()
        name = self.name.lower()
        if "content" not in words or any(part in name for part in _PAST):
            return False
        return any(part in name for part in _TABLES) or len(words & _TELLING) > 1

    @property
    def unread(self) -> list[str]:
        read = set(foreign.names_of(self.columns).values())
        return [name for name in self.columns if name not in read and name.lower() not in _SILENT]


def read(source: Source, *, now: datetime) -> Iterator[Found]:
    """Raises Rejected for a file that is damaged, locked or a database of this service."""
    try:
        with contextlib.closing(_connect(source)) as database:
            for table in _tables(database):
                yield from _rows(database, table, now=now)
    except sqlite3.Error as error:
        raise Rejected(f"{source.name} cannot be read: {error}.") from None


def _connect(source: Source) -> sqlite3.Connection:
    if source.path is None:
        database = sqlite3.connect(":memory:")
        content = bytearray(source.whole())
        content[_WAL] = _NO_LOG  # a copy in memory has no file beside it
        database.deserialize(bytes(content))
    else:
        path = source.path.resolve()
        # Even to read, SQLite makes a log beside a file that wants one; where there is none, nobody is writing.
        alone = source.beginning(20)[_WAL] != _NO_LOG and not path.with_name(path.name + "-wal").exists()
        how = "mode=ro&immutable=1" if alone else "mode=ro"
        database = sqlite3.connect(f"file:{quote(str(path))}?{how}", uri=True, timeout=PATIENCE_SECONDS)
    database.text_factory = lambda value: value.decode("utf-8", "surrogateescape")
    database.execute("PRAGMA trusted_schema=OFF")
    return database


def _tables(database: sqlite3.Connection) -> list[_Table]:
    listed = database.execute("PRAGMA table_list").fetchall()  # schema, name, type, ncol, wr, strict
    names = [name for schema, name, kind, *_ in listed if schema == "main" and kind == "table"]
    if set(names) >= _OURS:
        raise Rejected("This is a database of this service: `memory-mcp export` on it makes a file to import.")
    tables = [_Table(name, _columns(database, name)) for name in names if not name.startswith("sqlite_")]
    if not any(table.holds_memories for table in tables):
        raise Rejected("No table of this database looks like one of memories.")
    return tables


def _columns(database: sqlite3.Connection, table: str) -> tuple[str, ...]:
    return tuple(name for (name,) in database.execute("SELECT name FROM pragma_table_info(?)", [table]))


def _rows(database: sqlite3.Connection, table: _Table, *, now: datetime) -> Iterator[Found]:
    quoted = '"' + table.name.replace('"', '""') + '"'
    if not table.holds_memories:
        (count,) = database.execute(f"SELECT count(*) FROM {quoted}").fetchone()  # noqa: S608 - quoted
        if count:
            yield Remark(f"The table {table.name} was left out ({count:,} rows).")
        return
    if table.unread:
        yield Remark(f"Of the table {table.name} these columns were left out: {', '.join(table.unread)}.")
    for number, row in enumerate(database.execute(f"SELECT * FROM {quoted}"), start=1):  # noqa: S608 - quoted
        place = f"{table.name}, row {number}"
        fields = dict(zip(table.columns, row, strict=True))
        if any(isinstance(value, str) and not _is_unicode(value) for value in row):
            yield Flaw(place, "It is not UTF-8.")
        else:
            yield foreign.item(fields, place=place, now=now)


def _is_unicode(text: str) -> bool:
    return text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text)
