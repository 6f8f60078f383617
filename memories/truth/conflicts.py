"""Pairs of memories that cannot both be true now: kept, settled by a judge, the agent or a person, undone."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from memories import audit, clock, errors, search
from memories.draft import remark
from memories.errors import NotFound, Rejected
from memories.excerpts import excerpt
from memories.models import Conflict, Kind, Memory, Reason
from memories.passages import passages
from memories.querysets import MemoryQuerySet
from memories.truth.detection import Found
from memories.validity import live_twin, merge, supersede

LONGEST_EXCERPT = 200
LONGEST_REASON = 2000
Verdict = Conflict.Verdict
_ATTESTED = ~Q(verdict=Verdict.PENDING, evidence="")
"""What is only similar says nothing before a judge has spoken: nobody is shown it."""


@dataclass(frozen=True)
class Pair:
    """A pair as the one who stored is told of it: `uid` and `excerpt` are those of the other memory."""

    id: int
    uid: str
    excerpt: str
    evidence: str
    verdict: str


def save(memory: Memory, found: Iterable[Found], *, now: datetime) -> list[Pair]:
    """Keep the pairs of a memory that was just stored, in its transaction; what is confirmed takes effect."""
    kept = []
    for pair in found:
        other = Memory.objects.live().filter(pk=pair.other.pk).first()
        if other is None or other.pk == memory.pk:
            continue
        older, newer = (other, memory) if pair.is_older else (memory, other)
        if older.valid_to is not None:  # a memory that comes late was ended by another of its pairs
            continue
        conflict, created = Conflict.objects.get_or_create(
            older=older,
            newer=newer,
            defaults={
                "similarity": pair.similarity,
                "evidence": pair.said,
                "verdict": pair.verdict,
                "judge": pair.judge,
                "reason": pair.reason,
                "created_at": now,
                "decided_at": None if pair.verdict == Verdict.PENDING else now,
            },
        )
        if created and conflict.verdict == Verdict.CONFIRMED:
            _end(conflict, now=now)
        if conflict.verdict == Verdict.PENDING and not conflict.evidence:
            continue  # a judge's to decide, nobody else's
        shown = excerpt(other.content, ())[:LONGEST_EXCERPT]
        kept.append(Pair(conflict.pk, other.uid, shown, conflict.evidence, conflict.verdict))
    return kept


def is_whole(memory: Memory) -> bool:
    """Whether a memory is a single statement that can end as a whole; else only some of it is outdated."""
    return memory.kind != Kind.ARTIFACT and len(passages(memory.content)) == 1


def visible(*, scopes: Iterable[str] = (), state: str = "all") -> QuerySet[Conflict]:
    """Pairs of memories that are neither forgotten nor expired, newest first, in some scopes (none named: all)."""
    if state not in ("all", *Verdict.values):
        raise Rejected(f"state {state[:40]!r} is unknown; it is {', '.join(Verdict.values)} or all.")
    kept = Memory.objects.filter(deleted_at=None).unexpired(clock.now())
    both = Exists(kept.filter(pk=OuterRef("older"))) & Exists(kept.filter(pk=OuterRef("newer")))
    found = Conflict.objects.filter(both)
    wanted = list(scopes)
    if wanted:
        found = found.filter(older__scope__in=wanted)
    if state != "all":
        found = found.filter(verdict=state)
    if state == Verdict.PENDING:  # what ended otherwise meanwhile needs no decision
        found = found.filter(_ATTESTED, older__valid_to=None, newer__valid_to=None)
    return found.select_related("older__superseded_by", "newer__superseded_by").order_by("-created_at", "-pk")


def of_memory(memory: Memory) -> QuerySet[Conflict]:
    """The pairs that a memory is part of, newest first."""
    return visible().filter(Q(older=memory) | Q(newer=memory))


def find_pair(pk: int, *, scopes: Iterable[str] = ()) -> Conflict:
    """Raises NotFound, also for a pair out of reach."""
    conflict = visible(scopes=scopes).filter(pk=pk).first() if 0 <= pk < 2**63 else None
    if conflict is None:
        raise NotFound(f"There is no conflict {pk}.")
    return conflict


def settle(pk: int, verdict: str, *, actor: str, scopes: Iterable[str] = (), reason: str = "") -> Conflict:
    """Confirm a pair: the older memory ends where the newer begins. Or reject it, which also undoes a confirmation.

    A memory of several passages and an artifact do not end: they count as partly outdated. Raises NotFound, Rejected
    and Conflict (409) when the older was superseded by something else meanwhile.
    """
    if verdict not in (Verdict.CONFIRMED, Verdict.REJECTED):
        raise Rejected(f"verdict {verdict[:40]!r} is unknown; it is confirmed or rejected.")
    if len(reason) > LONGEST_REASON:
        raise Rejected(f"reason may have at most {LONGEST_REASON} characters; this one has {len(reason)}.")
    reason, now = remark(reason), clock.now()
    with transaction.atomic():
        conflict = find_pair(pk, scopes=scopes)
        before = conflict.verdict
        if before == verdict:
            return conflict
        conflict.verdict, conflict.decided_by, conflict.decided_at = verdict, actor, now
        conflict.reason = reason or conflict.reason
        if verdict == Verdict.CONFIRMED:
            _end(conflict, now=now)
        elif before == Verdict.CONFIRMED:
            _revive(conflict, now=now)
        conflict.save(update_fields=["verdict", "decided_by", "decided_at", "reason"])
        audit.record(
            "settle",
            actor=actor,
            scope=conflict.older.scope,
            now=now,
            uid=conflict.older.uid,
            conflict=conflict.pk,
            verdict=verdict,
            newer=conflict.newer.uid,
        )
    return conflict


def _end(conflict: Conflict, *, now: datetime) -> None:
    older, newer = conflict.older, conflict.newer
    if older.valid_to is not None:
        raise errors.Conflict(f"Memory {older.uid} is already superseded.")
    if newer.valid_to == newer.valid_from:
        raise errors.Conflict(f"Memory {newer.uid} was corrected: it was never true and ends nothing.")
    if is_whole(older):
        supersede(older, newer, reason=Reason.CONFLICT, at=newer.valid_from, now=now)


def _revive(conflict: Conflict, *, now: datetime) -> None:
    """Make the older memory live again, if it ended by this conflict; a living twin takes it in."""
    older = conflict.older
    if older.superseded_reason == Reason.CONFLICT and older.superseded_by_id == conflict.newer.pk:
        _hold_again(older, now=now)


def _hold_again(older: Memory, *, now: datetime) -> Memory | None:
    """Gives the living twin that took it in, if there was one."""
    twin = live_twin(older, now=now)
    if twin:
        merge(older, twin, now=now)
        return twin
    older.valid_to, older.superseded_by, older.superseded_reason, older.updated_at = None, None, "", now
    older.save(update_fields=["valid_to", "superseded_by", "superseded_reason", "updated_at"])
    return None


def ended_by(memories: Iterable[Memory]) -> list[str]:
    """The uids of what such memories ended by a conflict, unless it is forgotten itself."""
    ended = Memory.objects.filter(superseded_by__in=[one.pk for one in memories], superseded_reason=Reason.CONFLICT)
    return list(ended.filter(deleted_at=None).oldest_first().values_list("uid", flat=True))


def orphans() -> MemoryQuerySet:
    """What was ended by a conflict with a memory that is forgotten since, or purged."""
    gone = Q(superseded_by=None) | Q(superseded_by__deleted_at__isnull=False)
    return Memory.objects.filter(gone, deleted_at=None, superseded_reason=Reason.CONFLICT)


def revive(orphan: Memory, *, actor: str, now: datetime) -> Memory | None:
    """Let it hold again; gives the living twin that took it in, if there was one.

    Its pair is rejected, so that both hold should the other one come back.
    """
    for pair in Conflict.objects.filter(older=orphan, newer=orphan.superseded_by, verdict=Verdict.CONFIRMED):
        pair.verdict, pair.decided_by, pair.decided_at = Verdict.REJECTED, actor, now
        pair.save(update_fields=["verdict", "decided_by", "decided_at"])
    return _hold_again(orphan, now=now)


@dataclass(frozen=True)
class Mark:
    """Two memories by id of which the newer one ends (pending), or partly ends (confirmed), the older."""

    older: int
    newer: int
    is_confirmed: bool
    similarity: float


def marks(ids: Collection[int]) -> list[Mark]:
    """The open contradictions whose older memory is among the ids, the earliest first."""
    return [Mark(*pair) for pair in search.contradicted(ids)] if ids else []
