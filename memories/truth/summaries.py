"""One memory in the place of several that say nearly the same, and back. What the several were is kept exactly."""

from collections.abc import Collection, Sequence
from datetime import datetime

from django.db import transaction

from memories import audit, embedders, embedding, search, statements
from memories.draft import MAX_TAGS, Draft, prepare
from memories.embedding import Embedded
from memories.models import Memory, Reason, Source
from memories.querysets import MemoryQuerySet
from memories.truth.extracts import joined
from memories.validity import live_twin, merge

EXTRACT = "extract"
"""Who writes a summary that no model wrote."""


def draft(originals: Sequence[Memory], text: str, *, actor: str, run: str, now: datetime) -> Memory | None:
    """The summary of originals, oldest first, not stored yet; None if the text cannot be stored as it is.

    It holds from the youngest of them on: what comes to light later about a time since then is newer than it.
    """
    first = originals[0]
    memory = prepare(
        Draft(
            content=text,
            kind=first.kind,
            source=Source.CONSOLIDATION,
            scope=first.scope,
            tags=list(dict.fromkeys(tag for one in originals for tag in one.tags))[:MAX_TAGS],
            harness=_common([one.harness for one in originals]),
            session=_common([one.session for one in originals]),
            actor=actor,
            valid_from=max(one.valid_from for one in originals),
            confidence=max(one.confidence for one in originals),
            run=run,
        ),
        now=now,
    ).memory
    memory.project = first.project  # as it is: a short name is not looked up
    return memory if memory.content == text else None


def _common(values: Sequence[str]) -> str:
    return values[0] if len(set(values)) == 1 else ""


@transaction.atomic
def put_in_place(
    summary: Memory,
    originals: Sequence[Memory],
    *,
    unchanged: MemoryQuerySet,
    embedded: Embedded,
    by: str,
    now: datetime,
) -> bool:
    """Store a summary and supersede its originals, unless one of them is not `unchanged` or its text lives already.

    When they were last changed stays as it is, so that they can come back as they were.
    """
    search.refresh_schema()
    ids = [one.pk for one in originals]
    if set(unchanged.filter(pk__in=ids).values_list("pk", "content_hash")) != {
        (one.pk, one.content_hash) for one in originals
    }:
        return False
    twin = live_twin(summary, now=now)
    if twin and twin.pk not in ids:
        return False
    _replace(ids, summary, now=now, by=by, uids=[one.uid for one in originals])
    embedded.save(summary)
    return True


def _replace(ids: Collection[int], summary: Memory, *, now: datetime, by: str, uids: Sequence[str]) -> None:
    rows = Memory.objects.filter(pk__in=ids)
    # Before the summary, which may have the text of one of them.
    rows.update(valid_to=summary.valid_from, superseded_reason=Reason.CONSOLIDATION)
    statements.insert(summary)
    rows.update(superseded_by=summary)
    audit.record(
        "consolidate",
        actor=summary.actor,
        scope=summary.scope,
        now=now,
        uid=summary.uid,
        run=summary.run,
        originals=list(uids),
        by=by,
    )


def originals_of(summary: Memory) -> list[Memory]:
    """What a summary stands for, oldest first; forgotten ones are not among it."""
    return list(_made_of(summary).filter(deleted_at=None).oldest_first())


def _made_of(summary: Memory) -> MemoryQuerySet:
    return Memory.objects.filter(superseded_by=summary, superseded_reason=Reason.CONSOLIDATION)


def bring_back(summary: Memory, *, actor: str, now: datetime) -> list[str]:
    """Forget a live summary; its originals live again as they were. A living twin takes one in. Gives their uids."""
    originals = originals_of(summary)
    _forget(summary, actor=actor, now=now)
    for original in originals:
        _put_back(original, summary, now=now)
    return [one.uid for one in originals]


def _forget(summary: Memory, *, actor: str, now: datetime) -> None:
    summary.deleted_at = summary.updated_at = now
    summary.save(update_fields=["deleted_at", "updated_at"])
    audit.record("forget", actor=actor, scope=summary.scope, now=now, uid=summary.uid)


def _put_back(original: Memory, summary: Memory, *, now: datetime) -> None:
    """An original in the place of its summary: alive, or superseded by what superseded the summary."""
    twin = live_twin(original, now=now) if summary.valid_to is None else None
    if twin:
        merge(original, twin, now=now)
        return
    _end_like(original, summary)
    original.save(update_fields=["valid_to", "superseded_by", "superseded_reason"])


def _end_like(memory: Memory, summary: Memory) -> None:
    memory.valid_to = summary.valid_to
    memory.superseded_by_id = summary.superseded_by_id
    memory.superseded_reason = summary.superseded_reason


def without_forgotten(ids: Collection[int], *, spared: Collection[int], actor: str, now: datetime) -> list[str]:
    """Make summaries anew without originals that were just forgotten, in the same transaction.

    A summary that is `spared` is forgotten itself. The old ones hold the forgotten text, so they are forgotten; gives
    their uids.
    """
    consolidated = Memory.objects.filter(pk__in=ids, superseded_reason=Reason.CONSOLIDATION)
    holding = Memory.objects.filter(pk__in=consolidated.values("superseded_by"), deleted_at=None)
    found = [summary for summary in holding.oldest_first() if summary.pk not in spared]
    for summary in found:
        _remake(summary, actor=actor, now=now)
    return [summary.uid for summary in found]


def _remake(summary: Memory, *, actor: str, now: datetime) -> None:
    rest = originals_of(summary)
    # Restored, a forgotten one lives: no summary holds its text any more.
    forgotten = _made_of(summary).filter(deleted_at__isnull=False)
    forgotten.update(valid_to=None, superseded_by=None, superseded_reason="")
    _forget(summary, actor=actor, now=now)
    heir = _heir(summary, rest, actor=actor, now=now)
    if heir:
        _replace([one.pk for one in rest], heir, now=now, by=EXTRACT, uids=[one.uid for one in rest])
        if embedders.current() is not None:
            transaction.on_commit(lambda: embedding.later(heir))
    else:
        for one in rest:
            _put_back(one, summary, now=now)
    successor = heir or (rest[0] if len(rest) == 1 else None)
    if successor:  # what the summary superseded otherwise
        Memory.objects.filter(superseded_by=summary).exclude(pk=successor.pk).update(superseded_by=successor)


def _heir(summary: Memory, rest: Sequence[Memory], *, actor: str, now: datetime) -> Memory | None:
    """The summary of those that are left; None for one or none, and if it cannot be stored."""
    if len(rest) < 2:
        return None
    heir = draft(rest, joined(one.content for one in rest), actor=actor, run=summary.run, now=now)
    if heir is None:
        return None
    heir.kind, heir.project, heir.pinned = summary.kind, summary.project, summary.pinned
    _end_like(heir, summary)
    twin = live_twin(heir, now=now) if heir.valid_to is None else None
    return None if twin else heir
