"""Two memories of which the newer speaks against the older."""

from memories.models import Conflict, Memory
from memories.remember import Draft, Remembered, remember

OLD, NEW = "The session store is Redis", "The session store moved from Redis to Postgres"


def keep(content: str, **fields: object) -> Remembered:
    return remember(Draft(content=content, **fields))  # type: ignore[arg-type]


def pair(old: str = OLD, new: str = NEW, **fields: object) -> tuple[Memory, Memory, Conflict]:
    older, newer = keep(old, **fields), keep(new, **fields)
    conflict = Conflict.objects.get(pk=newer.conflicts[0].id)
    return Memory.objects.get(uid=older.uid), Memory.objects.get(uid=newer.uid), conflict
