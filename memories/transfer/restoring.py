"""Rows of an archive brought back as they were: uid, times, chain, verdicts. The faithful way beside `remember()`.

Every text is cleaned and redacted again (`archive.entry`); a row keeps its identity and its history. A uid that is
known is never overwritten: the database's memory stays, and becomes the stronger of both if the file's is the younger
one; what was forgotten here stays forgotten. A living twin under another uid takes the row in, as `lifecycle.restore`
does. All is decided inside the writing transaction, so two at once cannot disagree.
"""

import uuid
from collections.abc import Collection, Sequence
from datetime import datetime
from itertools import batched

from django.db import IntegrityError, transaction

from memories import audit, embedding, errors, search, statements
from memories.cleaning import poisoned
from memories.draft import CAPTURED
from memories.embedding import Embedded
from memories.errors import MemoriesError, Rejected
from memories.models import Conflict, Kind, Memory, Reason, Tier
from memories.transfer.archive import ConflictEntry, MemoryEntry
from memories.transfer.report import Outcome
from memories.validity import live_twin, refresh, stronger_of, supersede

BATCH = 500
_COPIES = uuid.UUID("6f1c2a52-6f0b-4d0e-9c55-3d5c5c0f2b7e")


class _Expired(Exception):
    """Its time is over: the row is taken out again."""


def copy_uid(uid: str, *, scope: str) -> str:
    """The uid of a memory in another scope than the one that has it already; always the same one."""
    return uuid.uuid5(_COPIES, f"{scope}/{uid}").hex


def restore(entries: Sequence[MemoryEntry], *, actor: str, renew: bool, now: datetime) -> list[Outcome]:
    """Bring a batch back in one transaction, and say of each what became of it.

    `renew`: what has expired is wanted back, so it gets a new term; else it is left out.
    """
    vectors = [embedding.embed(one.memory.content) for one in entries]  # nobody waits for a model
    with transaction.atomic():
        search.refresh_schema()
        known = _by_uid(entries)
        outcomes = [
            _one(entry.memory, embedded, known, renew=renew, now=now)
            for entry, embedded in zip(entries, vectors, strict=True)
        ]
        _audit(entries, outcomes, actor=actor, now=now)
    for entry, outcome, embedded in zip(entries, outcomes, vectors, strict=True):
        if outcome.status == "created" and embedded.state == "pending":
            embedding.later(entry.memory)
    return outcomes


def foresee(entries: Sequence[MemoryEntry], *, renew: bool, now: datetime) -> list[Outcome]:
    """What `restore` would do with a batch; nothing is written."""
    known = _by_uid(entries)
    return [_foreseen(entry, known, renew=renew, now=now) for entry in entries]


def _by_uid(entries: Sequence[MemoryEntry]) -> dict[str, Memory]:
    return {one.uid: one for one in Memory.objects.filter(uid__in=[entry.memory.uid for entry in entries])}


def _foreseen(entry: MemoryEntry, batch: dict[str, Memory], *, renew: bool, now: datetime) -> Outcome:
    try:
        if _planted(entry.memory):
            return Outcome("skipped", "It looks like an instruction to the model.")
        known = _known(entry.memory, batch.get(entry.memory.uid))
        if known:
            return _with_known(known, entry.memory, write=False)
    except MemoriesError as error:
        return Outcome("bad", str(error))
    end = entry.memory.expires_at
    if end and end <= now and not entry.memory.pinned and not renew:
        return Outcome("expired")
    return Outcome("refreshed" if _has_twin(entry.memory, now=now) else "created")


def _has_twin(memory: Memory, *, now: datetime) -> bool:
    same = {"scope": memory.scope, "project": memory.project, "content_hash": memory.content_hash}
    return memory.valid_to is None and Memory.objects.live().unexpired(now).filter(**same).exists()


def _one(memory: Memory, embedded: Embedded, batch: dict[str, Memory], *, renew: bool, now: datetime) -> Outcome:
    if _planted(memory):
        return Outcome("skipped", "It looks like an instruction to the model.")
    try:
        known = _known(memory, batch.get(memory.uid))
        outcome = _with_known(known, memory, write=True) if known else _new(memory, embedded, renew=renew, now=now)
    except _Expired:
        return Outcome("expired")
    except MemoriesError as error:
        return Outcome("bad", str(error))
    except IntegrityError as error:
        return Outcome("bad", f"The database refuses it: {error}.")
    batch[memory.uid] = known or memory
    return outcome


def _new(memory: Memory, embedded: Embedded, *, renew: bool, now: datetime) -> Outcome:
    try:
        with transaction.atomic():
            return _insert(memory, embedded, None, renew=renew, now=now)
    except IntegrityError:  # the same text lives in this place already: the constraint has decided
        with transaction.atomic():
            return _insert(memory, embedded, live_twin(memory, now=now), renew=renew, now=now)


def _planted(memory: Memory) -> bool:
    return memory.source in CAPTURED and poisoned(memory.content) is not None


def _known(memory: Memory, known: Memory | None) -> Memory | None:
    """The memory that has this uid in this scope. A uid that another scope has is replaced by that of a copy."""
    if known and known.scope != memory.scope:
        memory.uid = copy_uid(memory.uid, scope=memory.scope)
        known = Memory.objects.filter(uid=memory.uid).first()
    if known and known.scope != memory.scope:
        raise Rejected("The uid belongs to a memory of another scope.")
    return known


def _with_known(known: Memory, memory: Memory, *, write: bool) -> Outcome:
    if known.deleted_at is not None:
        return Outcome("forgotten")
    if known.content_hash != memory.content_hash:
        raise errors.Conflict(f"Memory {known.uid} has another text here; a text is never overwritten.")
    if memory.updated_at <= known.updated_at or known.valid_to is not None:
        return Outcome("unchanged")
    if memory.valid_to is not None:
        known.valid_to = max(memory.valid_to, known.valid_from)
        known.superseded_reason = memory.superseded_reason
    else:
        for name, value in stronger_of(known, memory).items():
            setattr(known, name, value)
    known.updated_at = memory.updated_at
    if write:
        known.save()
    return Outcome("refreshed")


def _insert(memory: Memory, embedded: Embedded, twin: Memory | None, *, renew: bool, now: datetime) -> Outcome:
    if twin:
        memory.valid_to = max(twin.valid_from, memory.valid_from)
    statements.insert(memory)
    if memory.expires_at or memory.kind == Kind.ARTIFACT:
        _check_term(memory, renew=renew, now=now)
    embedded.save(memory)
    if twin is None:
        return Outcome("created")
    if stronger_of(twin, memory):
        refresh(twin, memory, now=now)
    supersede(memory, twin, reason=Reason.MERGE, at=twin.valid_from, now=memory.updated_at)
    return Outcome("refreshed")


def _check_term(memory: Memory, *, renew: bool, now: datetime) -> None:
    if not Memory.objects.filter(pk=memory.pk).expired(now).exists():
        return
    if not renew:
        raise _Expired
    memory.expires_at = None
    memory.tier = Tier.EPISODIC if memory.tier == Tier.WORKING else memory.tier
    memory.updated_at = now
    memory.save(update_fields=["expires_at", "tier", "updated_at"])


def _audit(entries: Sequence[MemoryEntry], outcomes: Sequence[Outcome], *, actor: str, now: datetime) -> None:
    changed = [
        entry.memory
        for entry, outcome in zip(entries, outcomes, strict=True)
        if outcome.status in ("created", "refreshed")
    ]
    for scope in sorted({memory.scope for memory in changed}):
        uids = [memory.uid for memory in changed if memory.scope == scope]
        audit.record_each("import", uids, actor=actor, scope=scope, now=now)


def link(chain: Sequence[tuple[str, str, str]]) -> int:
    """Join versions: (scope, uid, uid of what superseded it). Returns how many successors there are none of.

    Only what is superseded by nothing yet is joined; a row's times stay as they are.
    """
    missing = 0
    for batch in batched(chain, BATCH, strict=False):
        with transaction.atomic():
            missing += sum(not _join(scope, uid, successor) for scope, uid, successor in batch)
    return missing


def _join(scope: str, uid: str, successor: str) -> bool:
    newer = in_scope(successor, scope=scope)
    if newer is None:
        return False
    older = Memory.objects.filter(scope=scope, uid=uid, superseded_by=None, valid_to__isnull=False, deleted_at=None)
    older.exclude(pk=newer.pk).update(superseded_by=newer)
    return True


def in_scope(uid: str, *, scope: str) -> Memory | None:
    """The memory that an archive calls `uid`, which has another uid here if it is a copy."""
    return (
        Memory.objects.filter(uid__in=[uid, copy_uid(uid, scope=scope)], scope=scope, deleted_at=None)
        .only("pk", "scope")
        .first()
    )


def restore_conflict(entry: ConflictEntry) -> Outcome:
    """Bring a conflict back; a verdict that was given here stays."""
    with transaction.atomic():
        older, newer = (in_scope(uid, scope=entry.scope) for uid in (entry.older, entry.newer))
        if older is None or newer is None:
            return Outcome("skipped", "One of the memories of this conflict is not here.")
        known = Conflict.objects.filter(older__in=[older, newer], newer__in=[older, newer]).first()
        if known:
            return _with_verdict(known, entry.conflict)
        entry.conflict.older, entry.conflict.newer = older, newer
        statements.insert(entry.conflict)
    return Outcome("created")


def foresee_conflict(entry: ConflictEntry, *, among: Collection[str]) -> Outcome:
    """What `restore_conflict` would do if the memories `among` were here; nothing is written."""
    older, newer = (in_scope(uid, scope=entry.scope) for uid in (entry.older, entry.newer))
    if older and newer and Conflict.objects.filter(older__in=[older, newer], newer__in=[older, newer]).exists():
        return Outcome("unchanged")
    here = (older or entry.older in among) and (newer or entry.newer in among)
    return Outcome("created") if here else Outcome("skipped", "One of the memories of this conflict is not here.")


def _with_verdict(known: Conflict, given: Conflict) -> Outcome:
    pending = Conflict.Verdict.PENDING
    if known.verdict != pending or given.verdict == pending:
        return Outcome("unchanged")
    decision = {name: getattr(given, name) for name in ("verdict", "reason", "evidence", "decided_by", "decided_at")}
    Conflict.objects.filter(pk=known.pk).update(**decision)
    return Outcome("refreshed")
