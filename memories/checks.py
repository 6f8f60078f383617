"""System checks of the database: `python manage.py check --database default`, and once before serving."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.core.checks import CheckMessage, Error, Tags, Warning, register  # noqa: A004
from django.db import DatabaseError, connections

from memories.conf import config
from memories.search import sqlite

WANTED = {"journal_mode": "wal", "synchronous": 1, "foreign_keys": 1, "secure_delete": 1, "busy_timeout": 20_000}
NETWORKED = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "fuse.sshfs", "afs", "ceph", "glusterfs"})


@register(Tags.database)
def check_store(databases: Sequence[str] | None = None, **_options: Any) -> list[CheckMessage]:
    """Folder, file system, pragmas and triggers of each SQLite database that is checked."""
    messages: list[CheckMessage] = []
    for alias in databases or []:
        if connections[alias].vendor == "sqlite":
            messages += [*_folder(), *_pragmas(), *_triggers(alias)]
    return messages


def _folder() -> list[CheckMessage]:
    folder = config().database.parent
    if not os.access(folder, os.W_OK):
        return [Error(f"The folder {folder} cannot be written.", id="memories.E001")]
    if file_system(folder) in NETWORKED:
        hint = "SQLite's write-ahead log needs a local disk; set MEMORY_DB_PATH to one."
        return [Warning(f"{folder} is on a network file system.", hint=hint, id="memories.W001")]
    return []


def file_system(folder: Path) -> str:
    """The type of the file system a folder is on, as Linux names it; "" where that is not known."""
    try:
        mounts = Path("/proc/mounts").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    kinds = {fields[1]: fields[2] for line in mounts if len(fields := line.split()) > 2}
    homes = [str(place) for place in (folder, *folder.parents) if str(place) in kinds]
    return kinds[homes[0]] if homes else ""


def _pragmas() -> list[CheckMessage]:
    try:
        found = sqlite.pragmas()
    except DatabaseError as error:
        return [Error(f"The database cannot be opened: {error}.", id="memories.E002")]
    return [
        Error(f"PRAGMA {name} is {found[name]!r} instead of {wanted!r}.", id="memories.E003")
        for name, wanted in WANTED.items()
        if found[name] != wanted
    ]


def _triggers(alias: str) -> list[CheckMessage]:
    with connections[alias].cursor() as cursor:
        cursor.execute("SELECT type, name FROM sqlite_master")
        found = set(cursor.fetchall())
    if ("table", "memories_memory") not in found:
        return []  # not migrated yet
    missing = sorted(name for name in sqlite.triggers() if ("trigger", name) not in found)
    hint = "Run `memory-mcp reindex`."
    return [Error(f"The trigger {name} is missing.", hint=hint, id="memories.E004") for name in missing]
