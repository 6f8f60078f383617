"""The write path. Every interface stores through `remember()`; what it acknowledges is committed and searchable."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from django.db import IntegrityError, transaction

from memories import audit, clock, embedding, search, statements
from memories.draft import MAX_TAGS, Draft, prepare
from memories.embedding import Embedded
from memories.errors import Conflict, NotFound, Rejected
from memories.models import Kind, Memory, Reason, Source, Tier

__all__ = ["Draft", "Remembered", "remember"]

type Status = Literal["created", "refreshed", "skipped"]

MOST_SUPERSEDED = 500
_BY_A_PERSON = frozenset({Source.CHAT, Source.ADMIN})


@dataclass(frozen=True)
class Remembered:
    """`uid` is None when the text was skipped, for the `reason` given."""

    uid: str | None
    status: Status
    reason: str = ""
    redacted: tuple[str, ...] = ()
    superseded: tuple[str, ...] = ()
    conflicts: tuple[object, ...] = ()
    vector: Literal["stored", "pending", "off"] = "off"


def remember(draft: Draft) -> Remembered:
    """Keep a text, or find that it is kept already.

    Raises Rejected (422), NotFound (404) for an unknown uid in `supersedes`, Conflict (409) for one that is
    superseded already or is younger than the new memory.
    """
    now = clock.now()
    if draft.correction and draft.valid_from:
        raise Rejected("A correction takes valid_from from what it corrects; leave it out.")
    if draft.correction and not draft.supersedes:
        raise Rejected("A correction names what it corrects in supersedes.")
    prepared = prepare(draft, now=now)
    memory = prepared.memory
    if prepared.poison:
        reason = f"looks like an instruction to the model ({prepared.poison})"
        audit.record("skip", actor=memory.actor, scope=memory.scope, now=now, reason=reason)
        return Remembered(None, "skipped", reason=reason, redacted=prepared.redacted)
    embedded = embedding.embed(memory.content)  # outside the transaction: nobody waits for a model
    near = embedding.near_twin(memory, embedded, now=now)
    if near and near.uid in draft.supersedes:  # an edit, if only of its case
        near = None
    try:
        kept, status, superseded = _store(memory, draft, embedded, now=now, find_twin=lambda: _still_live(near))
    except IntegrityError:  # the same text lives in this place already: the constraint has decided
        memory.pk = None
        kept, status, superseded = _store(
            memory, draft, embedded, now=now, find_twin=lambda: live_twin(memory, now=now)
        )
    if embedded.state == "pending":
        embedding.later(kept)
    return Remembered(kept.uid, status, redacted=prepared.redacted, superseded=superseded, vector=embedded.state)


@transaction.atomic
def _store(
    memory: Memory, draft: Draft, embedded: Embedded, *, now: datetime, find_twin: Callable[[], Memory | None]
) -> tuple[Memory, Status, tuple[str, ...]]:
    search.refresh_schema()
    targets = _targets(memory.scope, draft.supersedes)
    if targets:
        _inherit(memory, targets, draft)
    twin = find_twin()
    targets = [target for target in targets if target != twin]
    status: Status = "refreshed" if twin else "created"
    if twin:
        refresh(twin, memory, now=now)
        if twin.content_hash == memory.content_hash:
            embedded.complete(twin)
    else:
        statements.insert(memory)
        embedded.save(memory)
    kept = twin or memory
    for target in targets:
        supersede(
            target,
            kept,
            reason=Reason.CORRECTION if draft.correction else Reason.EDIT,
            at=_end_of(target, kept, draft, now=now),
            now=now,
        )
    uids = tuple(target.uid for target in targets)
    audit.record(
        "store",
        actor=memory.actor,
        scope=memory.scope,
        now=now,
        uid=kept.uid,
        status=status,
        source=memory.source,
        **({"supersedes": uids} if uids else {}),
    )
    return kept, status, uids


def _still_live(twin: Memory | None) -> Memory | None:
    """The twin as it is inside the transaction; None if it was forgotten or superseded meanwhile."""
    return Memory.objects.live().filter(pk=twin.pk).first() if twin else None


def _targets(scope: str, uids: Sequence[str]) -> list[Memory]:
    """The live memories that are to be superseded, oldest first."""
    if not uids:
        return []
    if len(uids) > MOST_SUPERSEDED:
        raise Rejected(f"supersedes may name at most {MOST_SUPERSEDED} memories; this one has {len(uids)}.")
    found = list(Memory.objects.in_scope(scope).identified(uids).filter(deleted_at=None).oldest_first())
    missing = sorted(set(uids) - {target.uid for target in found})
    if missing:
        raise NotFound(f"There is no memory {missing[0][:40]} in this scope.")
    for target in found:
        if target.valid_to is not None:
            raise Conflict(f"Memory {target.uid} is already superseded.")
    return found


def _inherit(memory: Memory, targets: list[Memory], draft: Draft) -> None:
    """What the draft leaves open comes from the oldest target; validity follows the rules of time."""
    first = targets[0]
    if draft.kind is None:
        memory.kind = first.kind
    if draft.tags is None:
        memory.tags = first.tags
    if draft.project is None:
        memory.project = first.project
    if draft.pinned is None:
        memory.pinned = any(target.pinned for target in targets)
    if draft.correction:
        memory.valid_from = first.valid_from
    youngest = targets[-1]
    if not draft.correction and memory.valid_from < youngest.valid_from:
        raise Conflict(f"Memory {youngest.uid} holds since {youngest.valid_from:%Y-%m-%d}, after this valid_from.")


def _end_of(target: Memory, kept: Memory, draft: Draft, *, now: datetime) -> datetime:
    """Where the validity of a superseded memory ends: nowhere after its start if it was never so."""
    if draft.correction:
        return target.valid_from
    newer = (kept.valid_from, kept.pk) > (target.valid_from, target.pk)
    return kept.valid_from if newer else max(now, target.valid_from)


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


def supersede(older: Memory, newer: Memory, *, reason: Reason, at: datetime, now: datetime) -> None:
    """End the validity of `older` with a link to what replaced it."""
    older.valid_to = max(at, older.valid_from)
    older.superseded_by = newer
    older.superseded_reason = reason
    older.updated_at = now
    older.save(update_fields=["valid_to", "superseded_by", "superseded_reason", "updated_at"])
