"""Finding memories. What differs between databases is one module each, behind the functions of `sqlite`."""

import importlib
from contextlib import AbstractContextManager
from types import ModuleType

from django.db import connection


def vendor(name: str) -> ModuleType:
    """The module of a database vendor, by Django's name of it."""
    return importlib.import_module(f"{__name__}.{name}")


def patience(milliseconds: int) -> AbstractContextManager[None]:
    """Within it, a statement waits at most this long for another writer and then fails with OperationalError."""
    waiting: AbstractContextManager[None] = vendor(connection.vendor).patience(milliseconds)
    return waiting
