"""The database made ready for serving: created, recognised, migrated, with a superuser."""

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings
from django.contrib.auth.models import Group, User
from django.core.management import call_command
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from filelock import FileLock, Timeout

from memories.errors import StoreUnavailable
from memories.transfer.readers.sqlite_file import MAGIC
from memsite.env import beside
from memsite.files import create_private, make_private_folder

OWNER = "owner"
LOCK_SECONDS = 300
"""Longest wait for another process that migrates the same database."""


def prepare_store() -> bool:
    """Create, check and migrate the database, and make the superuser `owner` if there is no user: then it is True.

    Raises StoreUnavailable with one sentence. Several processes may call it at the same time.
    """
    database: Path = settings.MEMORY.database
    _create(database)
    check_is_ours(database)
    try:
        if not _needs_work():
            return False
        with _only_one(database):
            call_command("migrate", interactive=False, verbosity=0)
            return _make_owner()
    except DatabaseError as error:
        raise StoreUnavailable(f"{database} cannot be used: {error}.") from error


def check_is_ours(database: Path) -> None:
    """Refuse what is no database of this service, without changing it. Raises StoreUnavailable."""
    if not database.is_file():
        raise StoreUnavailable(f"{database} is not a file; set MEMORY_DB_PATH to one that is, or to a new path.")
    if not os.access(database, os.R_OK | os.W_OK):
        raise StoreUnavailable(f"{database} may not be read and written by this user.")
    with database.open("rb") as file:
        beginning = file.read(len(MAGIC))
    if beginning not in (b"", MAGIC):
        raise StoreUnavailable(f"{database} is not a SQLite database; set MEMORY_DB_PATH to another path.")
    tables = _tables(database)
    if tables and "django_migrations" not in tables:
        raise StoreUnavailable(
            f"{database} belongs to another program and was not changed; set MEMORY_DB_PATH to another path,"
            f" then bring its memories over with: memory-mcp import {database}"
        )


def _create(database: Path) -> None:
    folder = database.parent
    try:
        make_private_folder(folder)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise StoreUnavailable(f"{folder} is read-only for this user; SQLite writes files beside {database}.")
        if not database.exists():
            create_private(database)
    except OSError as error:
        raise StoreUnavailable(f"{database} cannot be created: {error.strerror}.") from error


def _tables(database: Path) -> set[str]:
    try:
        with contextlib.closing(sqlite3.connect(database, timeout=20)) as raw:
            return {name for (name,) in raw.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    except sqlite3.Error as error:
        raise StoreUnavailable(f"{database} cannot be read: {error}.") from error


def _needs_work() -> bool:
    executor = MigrationExecutor(connection)
    pending = executor.migration_plan(executor.loader.graph.leaf_nodes())
    return bool(pending) or not User.objects.exists()


@contextlib.contextmanager
def _only_one(database: Path) -> Iterator[None]:
    path = beside(database, ".lock")
    try:
        with FileLock(path, timeout=LOCK_SECONDS, mode=0o600):
            yield
    except Timeout as error:
        raise StoreUnavailable(f"Another process has been migrating {database} for too long.") from error
    except OSError as error:
        raise StoreUnavailable(f"{path} cannot be locked: {error.strerror}.") from error


def _make_owner() -> bool:
    if User.objects.exists():
        return False
    user = User.objects.create_superuser(OWNER)
    user.groups.add(*Group.objects.filter(name=OWNER))
    return True
