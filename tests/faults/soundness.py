"""Whether a database is whole after what happened to it."""

import contextlib
import sqlite3
from pathlib import Path


def assert_sound(database: Path) -> None:
    with contextlib.closing(sqlite3.connect(database)) as raw:
        assert raw.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        for table in ("memories_fts", "memories_fts_tri"):
            raw.execute(f"INSERT INTO {table}({table}, rank) VALUES ('integrity-check', 1)")
