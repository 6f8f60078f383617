"""Versions of a fact, by the links of what replaced what."""

from memories.models import Memory


def replaced_by(memory: Memory) -> list[Memory]:
    """The versions that a memory replaced, directly or through others (forgotten ones too), newest first."""
    found: list[Memory] = []
    seen = {memory.pk}
    latest = [memory.pk]
    while latest:
        older = Memory.objects.filter(superseded_by__in=latest).exclude(pk__in=seen).select_related("superseded_by")
        batch = list(older.order_by("-valid_from", "-pk"))
        found += [one for one in batch if one.deleted_at is None]
        latest = [one.pk for one in batch]
        seen.update(latest)
    return found


def chain_of(memory: Memory) -> list[Memory]:
    """Every version of a fact, oldest first: what led to the memory and what replaced it."""
    newest, seen = memory, {memory.pk}
    while newest.superseded_by and newest.superseded_by.pk not in seen:
        newest = newest.superseded_by
        seen.add(newest.pk)
    return [*reversed(replaced_by(newest)), *([newest] if newest.deleted_at is None else [])]
