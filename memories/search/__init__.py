"""Finding memories. What differs between databases is one module each, behind the functions of `sqlite`."""

import importlib
from collections.abc import Collection
from contextlib import AbstractContextManager
from types import ModuleType
from typing import TYPE_CHECKING

from django.db import connection

if TYPE_CHECKING:
    from memories.life import Traits
    from memories.querysets import MemoryQuerySet

type Place = tuple[str, str]
"""Scope and project."""


def vendor(name: str) -> ModuleType:
    """The module of a database vendor, by Django's name of it."""
    return importlib.import_module(f"{__name__}.{name}")


def traits(queryset: "MemoryQuerySet", ids: Collection[int]) -> "dict[int, Traits]":
    """What ranking needs of those of the ids that are in a queryset."""
    found: dict[int, Traits] = vendor(connection.vendor).traits(queryset, ids)
    return found


def contradicted(ids: Collection[int]) -> list[tuple[int, int, bool, float]]:
    """Older memory, newer memory, whether it is confirmed, and their similarity, of the attested pairs whose older one
    is among the ids and of which none is superseded, the earliest first."""
    found: list[tuple[int, int, bool, float]] = vendor(connection.vendor).contradicted(ids)
    return found


def among(queryset: "MemoryQuerySet", ids: Collection[int]) -> frozenset[int]:
    """Those of the ids that are in a queryset."""
    found: frozenset[int] = vendor(connection.vendor).among(queryset, ids)
    return found


def neighbours(ids: Collection[int], *, reach: int) -> dict[int, dict[int, int]]:
    """By id, the memories around each one in its session, and how many steps away they are: 1 to reach."""
    found: dict[int, dict[int, int]] = vendor(connection.vendor).neighbours(ids, reach=reach)
    return found


def refresh_schema() -> None:
    """Call it first in a transaction that adds memories: maintenance may have rebuilt the file meanwhile."""
    vendor(connection.vendor).refresh_schema()


def patience(milliseconds: int) -> AbstractContextManager[None]:
    """Within it, a statement waits at most this long for another writer and then fails with OperationalError."""
    waiting: AbstractContextManager[None] = vendor(connection.vendor).patience(milliseconds)
    return waiting
