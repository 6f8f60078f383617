"""How long a memory holds: twins made one, validity ended with a link to what came after, and brought back."""

from datetime import datetime
from typing import Any

from memories.draft import MAX_TAGS
from memories.models import Kind, Memory, Reason, Source, Tier

_BY_A_PERSON = frozenset({Source.CHAT, Source.ADMIN})


def live_twin(memory: Memory, *, now: datetime) -> Memory | None:
    """The live memory with the same text in the same place; one that has expired is closed first."""
    live = Memory.objects.live().filter(scope=memory.scope, project=memory.project, content_hash=memory.content_hash)
    twin = live.exclude(pk=memory.pk).first()
    if twin and Memory.objects.filter(pk=twin.pk).expired(now).exists():
        close(twin, at=twin.expires_at or now)
        return None
    return twin


def close(memory: Memory, *, at: datetime) -> None:
    """End the validity of a memory that nothing replaces."""
    memory.valid_to = max(memory.valid_from, at)
    memory.save(update_fields=["valid_to"])


def refresh(twin: Memory, other: Memory, *, now: datetime) -> None:
    """Make `twin` the stronger of two memories with the same text."""
    stronger = stronger_of(twin, other)
    if twin.valid_from > now:  # it was stored while the clock was ahead
        stronger["valid_from"] = now
    for name, value in stronger.items():
        setattr(twin, name, value)
    twin.updated_at = now
    twin.save(update_fields=[*stronger, "updated_at"])


def stronger_of(twin: Memory, other: Memory) -> dict[str, Any]:
    """What changes in `twin` when it becomes the stronger of two memories with the same text: field -> value."""
    ends = (twin.expires_at, other.expires_at)
    end = None if None in ends else max(end for end in ends if end)
    tier = twin.tier
    if end is None and tier == Tier.WORKING:
        tier = other.tier if other.tier != Tier.WORKING else Tier.EPISODIC
    by_a_person = other.source in _BY_A_PERSON and twin.source not in _BY_A_PERSON
    fields = {
        "kind": other.kind if twin.kind == Kind.ARTIFACT else twin.kind,
        "expires_at": end,
        "tier": tier,
        "tags": list(dict.fromkeys([*twin.tags, *other.tags]))[:MAX_TAGS],
        "pinned": twin.pinned or other.pinned,
        "source": other.source if by_a_person else twin.source,
        "confidence": max(twin.confidence, other.confidence),
    }
    return {name: value for name, value in fields.items() if value != getattr(twin, name)}


def merge(memory: Memory, twin: Memory, *, now: datetime) -> None:
    """Let a living memory with the same text take another one in."""
    refresh(twin, memory, now=now)
    supersede(memory, twin, reason=Reason.MERGE, at=twin.valid_from, now=now)


def supersede(older: Memory, newer: Memory, *, reason: Reason, at: datetime, now: datetime) -> None:
    """End the validity of `older` with a link to what replaced it."""
    older.valid_to = max(at, older.valid_from)
    older.superseded_by = newer
    older.superseded_reason = reason
    older.updated_at = now
    older.save(update_fields=["valid_to", "superseded_by", "superseded_reason", "updated_at"])
