"""The write path. Every interface stores through `remember()`; what it acknowledges is committed and searchable."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from django.db import IntegrityError, transaction

from memories import audit, clock, embedding, search, statements
from memories.draft import Draft, prepare
from memories.embedding import Embedded
from memories.errors import Conflict, NotFound, Rejected
from memories.models import Memory, Reason
from memories.truth import conflicts, detection, judging
from memories.truth.conflicts import Pair
from memories.truth.detection import Found
from memories.validity import live_twin, refresh, supersede

__all__ = ["Draft", "Remembered", "remember"]

type Status = Literal["created", "refreshed", "skipped"]

MOST_SUPERSEDED = 500


@dataclass(frozen=True)
class Remembered:
    """`uid` is None when the text was skipped, for the `reason` given."""

    uid: str | None
    status: Status
    reason: str = ""
    redacted: tuple[str, ...] = ()
    superseded: tuple[str, ...] = ()
    conflicts: tuple[Pair, ...] = ()
    vector: Literal["stored", "pending", "off"] = "off"


def remember(draft: Draft) -> Remembered:
    """Keep a text, or find that it is kept already.

    Raises Rejected (422), NotFound (404) for an unknown uid in `supersedes`, Conflict (409) for one that is
    superseded already or is younger than the new memory.
    """
    now = clock.now()
    if draft.correction:
        _check_correction(draft)
    prepared = prepare(draft, now=now)
    memory = prepared.memory
    if prepared.poison:
        reason = f"looks like an instruction to the model ({prepared.poison})"
        audit.record("skip", actor=memory.actor, scope=memory.scope, now=now, reason=reason)
        return Remembered(None, "skipped", reason=reason, redacted=prepared.redacted)
    if draft.supersedes:  # before it is compared: whose project, kind and start it has decides with what
        _inherit(memory, _targets(memory.scope, draft.supersedes), draft, now=now)
    embedded = embedding.embed(memory.content)  # outside the transaction: nobody waits for a model
    near = embedding.near_twin(memory, embedded, now=now)
    if near and near.uid in draft.supersedes:  # an edit, if only of its case
        near = None
    found = [] if near else detection.find(memory, embedded, leave_out=draft.supersedes, now=now)
    writing = functools.partial(_store, memory, draft, embedded, found, now=now)
    try:
        kept = writing(find_twin=lambda: _still_live(near))
    except IntegrityError:  # the same text lives in this place already: the constraint has decided
        memory.pk = None
        kept = writing(find_twin=lambda: live_twin(memory, now=now))
    if embedded.state == "pending":
        embedding.later(kept.memory)
    if found:
        judging.later()
    return Remembered(
        kept.memory.uid,
        kept.status,
        redacted=prepared.redacted,
        superseded=kept.superseded,
        conflicts=kept.conflicts,
        vector=embedded.state,
    )


def _check_correction(draft: Draft) -> None:
    if draft.valid_from:
        raise Rejected("A correction takes valid_from from what it corrects; leave it out.")
    if not draft.supersedes:
        raise Rejected("A correction names what it corrects in supersedes.")


@dataclass(frozen=True)
class _Kept:
    memory: Memory
    status: Status
    superseded: tuple[str, ...]
    conflicts: tuple[Pair, ...]


@transaction.atomic
def _store(
    memory: Memory,
    draft: Draft,
    embedded: Embedded,
    found: Sequence[Found],
    *,
    now: datetime,
    find_twin: Callable[[], Memory | None],
) -> _Kept:
    search.refresh_schema()
    targets = _targets(memory.scope, draft.supersedes)
    if targets:
        _inherit(memory, targets, draft, now=now)
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
    _end_all(targets, kept, draft, now=now)
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
    pairs = () if twin else tuple(conflicts.save(memory, found, now=now))
    return _Kept(kept, status, uids, pairs)


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


def _inherit(memory: Memory, targets: list[Memory], draft: Draft, *, now: datetime) -> None:
    """What the draft leaves open comes from the oldest target; validity follows the rules of time."""
    first = targets[0]
    if not draft.kind:
        memory.kind = first.kind
    if draft.tags is None:
        memory.tags = first.tags
    if not draft.project:  # missing, null and "" mean the same
        memory.project = first.project
    if draft.pinned is None:
        memory.pinned = any(target.pinned for target in targets)
    if draft.correction:
        memory.valid_from = first.valid_from
    youngest = targets[-1]
    # What holds from later than now was stored while the clock was ahead.
    if not draft.correction and memory.valid_from < min(youngest.valid_from, now):
        raise Conflict(f"Memory {youngest.uid} holds since {youngest.valid_from:%Y-%m-%d}, after this valid_from.")


def _end_all(targets: Sequence[Memory], kept: Memory, draft: Draft, *, now: datetime) -> None:
    for target in targets:
        supersede(
            target,
            kept,
            reason=Reason.CORRECTION if draft.correction else Reason.EDIT,
            at=_end_of(target, kept, draft, now=now),
            now=now,
        )


def _end_of(target: Memory, kept: Memory, draft: Draft, *, now: datetime) -> datetime:
    """Where the validity of a superseded memory ends: nowhere after its start if it was never so."""
    if draft.correction:
        return target.valid_from
    newer = (kept.valid_from, kept.pk) > (target.valid_from, target.pk)
    return kept.valid_from if newer else max(now, target.valid_from)
