"""Full-text search by SQLite's FTS5. Filters of a queryset run inside the search, never after it.

The words of `content` and the bigrams of `segments` share one index (porter over unicode61); a second index holds
trigrams for pieces of words. Both are external content: the text is stored once, in the memory. A third column of the
first index is a token for scope and project: intersecting postings is several times cheaper than looking up and scoring
the rows of every other project.
"""

import contextlib
import sqlite3
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from django.db import DatabaseError, connection

from memories.errors import StoreUnavailable
from memories.life import Traits
from memories.querysets import MemoryQuerySet
from memories.search import Place

WORDS = "memories_fts"
PIECES = "memories_fts_tri"
TABLE = "memories_memory"
CHECKPOINT_SECONDS, PAUSE_SECONDS = 30, 0.02
"""How long a scrub waits for another checkpoint that runs, and between two looks."""
SHORTEST_PIECE = 3
"""Characters of the shortest string that a trigram index can find."""

SOURCE = "memories_indexed"
_PLACE = "lower('p' || hex({0}scope) || 'q' || hex({0}project) || 'z')"
"""One word that no stemmer shortens."""
_COLUMNS = {
    WORDS: {"content": "{0}content", "segments": "{0}segments", "place": _PLACE},
    PIECES: {"content": "{0}content"},
}
_INDEXED = {WORDS: "content, segments, scope, project", PIECES: "content"}
_TOKENIZERS = {WORDS: "porter unicode61", PIECES: "trigram"}
_WATCHED = "scope, project, kind, content, valid_from, valid_to, expires_at, deleted_at, pinned"


def _values(row: str, table: str) -> str:
    return ", ".join([f"{row}.id", *(value.format(f"{row}.") for value in _COLUMNS[table].values())])


def _index_triggers(table: str) -> dict[str, str]:
    columns = ", ".join(_COLUMNS[table])
    add = f"INSERT INTO {table}(rowid, {columns}) VALUES ({_values('new', table)});"
    drop = f"INSERT INTO {table}({table}, rowid, {columns}) VALUES ('delete', {_values('old', table)});"
    return {
        f"{table}_ai": f"AFTER INSERT ON {TABLE} BEGIN {add} END",
        f"{table}_ad": f"AFTER DELETE ON {TABLE} BEGIN {drop} END",
        f"{table}_au": f"AFTER UPDATE OF {_INDEXED[table]} ON {TABLE} BEGIN {drop} {add} END",
    }


def _change_triggers() -> dict[str, str]:
    def note(row: str, column: str = "id") -> str:
        return f"BEGIN INSERT INTO memory_changes(memory_id) VALUES ({row}.{column}); END"

    passage = "memories_passage"
    return {
        "memory_changes_ai": f"AFTER INSERT ON {TABLE} {note('new')}",
        "memory_changes_ad": f"AFTER DELETE ON {TABLE} {note('old')}",
        "memory_changes_au": f"AFTER UPDATE OF {_WATCHED} ON {TABLE} {note('new')}",
        "memory_changes_passage_ai": f"AFTER INSERT ON {passage} {note('new', 'memory_id')}",
        "memory_changes_passage_ad": f"AFTER DELETE ON {passage} {note('old', 'memory_id')}",
        "memory_changes_passage_au": f"AFTER UPDATE ON {passage} {note('new', 'memory_id')}",
    }


def _audit_triggers() -> dict[str, str]:
    refuse = "BEGIN SELECT RAISE(ABORT, 'audit entries are append-only'); END"
    return {
        "memories_auditentry_append_bu": f"BEFORE UPDATE ON memories_auditentry {refuse}",
        "memories_auditentry_append_bd": f"BEFORE DELETE ON memories_auditentry {refuse}",
    }


def triggers() -> dict[str, str]:
    """Every trigger that must exist: name -> what follows CREATE TRIGGER name."""
    return {**_index_triggers(WORDS), **_index_triggers(PIECES), **_change_triggers(), **_audit_triggers()}


def install() -> list[str]:
    """Statements that create what is missing and renew every trigger; safe to repeat."""
    view = f"SELECT id, content, segments, {_PLACE.format('')} AS place FROM {TABLE}"
    statements = [f"DROP VIEW IF EXISTS {SOURCE}", f"CREATE VIEW {SOURCE} AS {view}"]
    for table, tokenizer in _TOKENIZERS.items():
        statements.append(
            f"CREATE VIRTUAL TABLE IF NOT EXISTS {table} USING fts5"
            f"({', '.join(_COLUMNS[table])}, content='{SOURCE}', content_rowid='id', tokenize='{tokenizer}')"
        )
    statements.append(f"INSERT INTO {WORDS}({WORDS}, rank) VALUES ('rank', 'bm25(1.0, 1.0, 0.0)')")
    for name, body in triggers().items():
        statements += [f"DROP TRIGGER IF EXISTS {name}", f"CREATE TRIGGER {name} {body}"]
    return [*statements, *rebuild()]


def uninstall() -> list[str]:
    dropped = [f"DROP TRIGGER IF EXISTS {name}" for name in triggers()]
    tables = [f"DROP TABLE IF EXISTS {table}" for table in _TOKENIZERS]
    return [*dropped, *tables, f"DROP VIEW IF EXISTS {SOURCE}"]


def rebuild() -> list[str]:
    return [f"INSERT INTO {table}({table}) VALUES ('rebuild')" for table in _TOKENIZERS]


def optimize() -> list[str]:
    """Merges every segment, which is what removes deleted words from the bytes of the index."""
    return [f"INSERT INTO {table}({table}) VALUES ('optimize')" for table in _TOKENIZERS]


def _rows(sql: str, parameters: Sequence[Any] | None = None) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        found: list[Any] = cursor.fetchall()
        return found


def _condition(queryset: MemoryQuerySet) -> tuple[str, Sequence[Any]]:
    """What follows WHERE. Kept with the queryset: a recall asks several times, and compiling costs more than asking."""
    kept: tuple[str, Sequence[Any]] | None = vars(queryset).get("_compiled_condition")
    if kept is None:
        compiler = queryset.query.get_compiler(connection=connection)
        sql, parameters = compiler.compile(queryset.query.where)
        kept = vars(queryset)["_compiled_condition"] = (sql or "1", parameters)
    return kept


def within(expression: str, places: Iterable[Place]) -> str:
    """A query for words narrowed to some places by the index itself; no places: everywhere."""
    tokens = [f'"p{scope.encode().hex()}q{project.encode().hex()}z"' for scope, project in places]
    words = f"{{content segments}} : ({expression})"
    return f"{words} AND place : ({' OR '.join(tokens)})" if tokens else words


def ranked(queryset: MemoryQuerySet, expression: str, *, limit: int, table: str = WORDS) -> list[tuple[int, float]]:
    """(memory id, BM25 score, higher is better) of the best matches inside the queryset, best first.

    Ordered by the score alone: a second key costs a fifth of the query, and callers order anyway.
    """
    condition, parameters = _condition(queryset)
    sql = (
        f"SELECT {TABLE}.id, {table}.rank FROM {table} CROSS JOIN {TABLE} ON {TABLE}.id = {table}.rowid "
        f"WHERE {table} MATCH %s AND {condition} ORDER BY 2 LIMIT %s"
    )
    return [(one, -rank) for one, rank in _rows(sql, [expression, *parameters, limit])]


def occurrences(expression: str, ids: Collection[int] = (), *, table: str = WORDS) -> tuple[int, frozenset[int]]:
    """How many rows of the whole table match, and which of `ids` are among them, in one pass.

    `+rowid` keeps SQLite from seeking each id in the index, which costs more than reading the postings once.
    """
    marks = ", ".join(str(int(one)) for one in ids)
    sql = (
        f"SELECT count(*), group_concat(CASE WHEN +rowid IN ({marks}) THEN rowid END) "
        f"FROM {table} WHERE {table} MATCH %s"
    )
    ((count, found),) = _rows(sql, [expression])
    return count, frozenset(map(int, found.split(","))) if found else frozenset()


def among(queryset: MemoryQuerySet, ids: Collection[int]) -> frozenset[int]:
    """Those of the ids that are in a queryset."""
    condition, parameters = _condition(queryset)
    marks = ", ".join(str(int(one)) for one in ids)
    found = _rows(f"SELECT id FROM {TABLE} WHERE id IN ({marks}) AND {condition}", parameters)
    return frozenset(one for (one,) in found)


def neighbours(ids: Collection[int], *, reach: int) -> dict[int, dict[int, int]]:
    """By id, the memories stored before and after each one in its session, and how many steps away: 1 to reach."""
    marks = ", ".join(str(int(one)) for one in ids)

    def beside(comparison: str, order: str) -> str:
        nearest = (
            f"SELECT b.id FROM {TABLE} b WHERE b.scope = m.scope AND b.session = m.session AND b.id {comparison} m.id "
            f"ORDER BY b.id {order} LIMIT {int(reach)}"
        )
        return f"(SELECT group_concat(id) FROM ({nearest}))"

    sql = (
        f"SELECT m.id, {beside('<', 'DESC')}, {beside('>', 'ASC')} "
        f"FROM {TABLE} m WHERE m.id IN ({marks}) AND m.session <> ''"
    )
    return {
        one: {int(two): steps for side in sides if side for steps, two in enumerate(side.split(","), start=1)}
        for one, *sides in _rows(sql)
    }


def changes() -> tuple[int, int]:
    """The first and the last number in the table of changes; 0 for none."""
    ((first, last),) = _rows("SELECT coalesce(min(seq), 0), coalesce(max(seq), 0) FROM memory_changes")
    return first, last


def changed_since(seq: int) -> list[int]:
    """The memories that changed after a number."""
    return [one for (one,) in _rows("SELECT DISTINCT memory_id FROM memory_changes WHERE seq > %s", [seq])]


def forget_changes(*, keep: int) -> None:
    """Shorten the table of changes; a process that is further behind reads everything anew."""
    with connection.cursor() as cursor:
        cursor.execute(f"DELETE FROM memory_changes WHERE seq <= (SELECT max(seq) FROM memory_changes) - {int(keep)}")


def vectors(model: str, ids: Collection[int] | None = None) -> Iterator[tuple[int, int, int, str, str, bool, bytes]]:
    """Memory, start and end of the passage, scope, project, whether it is superseded, and the vector, of what is not
    forgotten and has vectors of the model."""
    wanted = "" if ids is None else f"AND m.id IN ({', '.join(str(int(one)) for one in ids)})"
    sql = (
        "SELECT m.id, p.start, p.end, m.scope, m.project, m.valid_to IS NOT NULL, p.vector "
        f"FROM memories_passage p JOIN {TABLE} m ON m.id = p.memory_id "
        f"WHERE p.model = %s AND p.text_hash = m.content_hash AND m.deleted_at IS NULL {wanted} "
        "ORDER BY m.id, p.position"
    )
    with connection.cursor() as cursor:
        cursor.execute(sql, [model])
        yield from iter(cursor.fetchone, None)


def traits(queryset: MemoryQuerySet, ids: Collection[int]) -> dict[int, Traits]:
    """What ranking needs of those of the ids that are in a queryset."""
    condition, parameters = _condition(queryset)
    marks = ", ".join(str(int(one)) for one in ids)
    fades = "kind = 'artifact' AND tier <> 'semantic' AND NOT pinned"
    used = "max(valid_from, coalesce(last_accessed_at, ''), coalesce(last_injected_at, ''))"
    sql = (
        f"SELECT id, uid, valid_from, injection_count, {fades}, confidence, access_count, {used} "
        f"FROM {TABLE} WHERE id IN ({marks}) AND {condition}"
    )
    return {one: Traits(*rest) for one, *rest in _rows(sql, parameters)}


def contradicted(ids: Collection[int]) -> list[tuple[int, int, bool, float]]:
    """Older memory, newer memory, whether it is confirmed, and their similarity, of the attested pairs whose older one
    is among the ids and of which none is superseded, the earliest first. By hand: every recall asks."""
    marks = ", ".join(str(int(one)) for one in ids)
    sql = (
        f"SELECT o.id, n.id, c.verdict = 'confirmed', c.similarity FROM memories_conflict c "
        f"JOIN {TABLE} o ON o.id = c.older_id JOIN {TABLE} n ON n.id = c.newer_id "
        f"WHERE c.older_id IN ({marks}) AND c.verdict <> 'rejected' AND (c.verdict <> 'pending' OR c.evidence <> '') "
        f"AND o.valid_to IS NULL AND n.valid_to IS NULL ORDER BY o.valid_from, o.id, n.id"
    )
    return [(older, newer, bool(confirmed), similarity) for older, newer, confirmed, similarity in _rows(sql)]


def size() -> int:
    """About how many memories the index holds: the highest id, which costs nothing to know."""
    ((highest,),) = _rows(f"SELECT coalesce(max(id), 0) FROM {TABLE}")
    return int(highest)


def scrub() -> bool:
    """Remove what deleted rows left in the bytes of the indexes, the file and the write-ahead log.

    False if another connection still reads the old state: the bytes stay until this is repeated.
    """
    with connection.cursor() as cursor:
        for statement in optimize():
            cursor.execute(statement)
        cursor.execute("VACUUM")
    return _truncate_log()


def _truncate_log() -> bool:
    """Whether the write-ahead log is empty now.

    After VACUUM it is as large as the file, and the next commit of anybody begins to copy it back. SQLite calls its
    busy handler for readers, not for another checkpoint that runs: that is told by a log of -1 frames.
    """
    deadline = time.monotonic() + CHECKPOINT_SECONDS
    while True:
        ((busy, frames, _copied),) = _rows("PRAGMA wal_checkpoint(TRUNCATE)")
        if not busy or frames >= 0 or time.monotonic() > deadline:
            return not busy
        time.sleep(PAUSE_SECONDS)


def backup(target: Path) -> None:
    """Copy the whole database, consistently and while it is in use, to an empty file."""
    connection.ensure_connection()
    with contextlib.closing(sqlite3.connect(target)) as copy:
        connection.connection.backup(copy)
        (verdict,) = copy.execute("PRAGMA quick_check").fetchone()
    if verdict != "ok":
        raise StoreUnavailable(f"The copy is damaged: {verdict}.")


def problems() -> Iterator[str]:
    """What is wrong with the file and its indexes, one sentence each."""
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA quick_check")
        yield from (f"quick_check: {line}" for (line,) in cursor.fetchall() if line != "ok")
        cursor.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")
        missing = set(triggers()) - {name for (name,) in cursor.fetchall()}
        yield from (f"The trigger {name} is missing." for name in sorted(missing))
        for table in _TOKENIZERS:
            try:
                cursor.execute(f"INSERT INTO {table}({table}, rank) VALUES ('integrity-check', 1)")
            except DatabaseError as error:
                yield f"The full-text index {table} does not agree with the memories: {error}."


def pragmas() -> dict[str, object]:
    """The settings of the connection in use that durability and secrecy depend on."""
    names = ("journal_mode", "synchronous", "foreign_keys", "secure_delete", "busy_timeout")
    with connection.cursor() as cursor:
        return {name: cursor.execute(f"PRAGMA {name}").fetchone()[0] for name in names}


def refresh_schema() -> None:
    """Notice now that another connection ran VACUUM.

    Noticed while an INSERT that feeds the indexes is prepared, it makes SQLite fail with SQLITE_SCHEMA.
    """
    with connection.wrap_database_errors:
        connection.connection.execute(f"SELECT 1 FROM {TABLE} LIMIT 0")


@contextlib.contextmanager
def patience(milliseconds: int) -> Iterator[None]:
    """Wait at most this long for another writer; what may not wait longer is given up with OperationalError."""
    connection.ensure_connection()
    raw = connection.connection
    (before,) = raw.execute("PRAGMA busy_timeout").fetchone()
    raw.execute(f"PRAGMA busy_timeout = {int(milliseconds)}")
    try:
        yield
    finally:
        raw.execute(f"PRAGMA busy_timeout = {before}")


@contextlib.contextmanager
def snapshot() -> Iterator[None]:
    """Within it, every statement reads the same state of the database; writers are not held up."""
    with connection.cursor() as cursor:
        cursor.execute("BEGIN DEFERRED")  # atomic() would take the lock of the writers
        try:
            yield
        finally:
            cursor.execute("ROLLBACK")
