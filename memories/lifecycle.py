"""The end of memories: forgetting and bringing back, purging what is forgotten or expired, and copies of it all."""

import os
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from itertools import batched
from pathlib import Path

from django.db import DatabaseError, connection, transaction
from django.db.models import Q

from memories import audit, clock, embedding, search
from memories.draft import labels, one_of
from memories.errors import NotFound, Rejected
from memories.models import AuditEntry, Conflict, Kind, Memory, Passage, Source, Tier
from memories.principal import Principal
from memories.querysets import MemoryQuerySet
from memories.search.scripts import segments
from memories.truth import conflicts, summaries
from memories.truth.chains import replaced_by
from memories.validity import live_twin, merge

BATCH = 500
"""Ids in one statement: SQLite refuses more than about 32,000."""
CHANGES_KEPT = 50_000
"""Rows of the table of changes; a process that missed more reads all vectors anew."""
MOST_WAIT_MS = 1000
"""How long a scrub waits for a reader; it holds up every writer meanwhile."""

type Scrub = Callable[[Sequence[str]], None]
type Archive = Callable[[Sequence[int]], None]
type Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Forgotten:
    """`ended`: older memories that one of them had ended as contradicting it; they stay so unless they are restored."""

    uids: tuple[str, ...]
    ended: tuple[str, ...] = ()


@dataclass(frozen=True)
class Restored:
    """`merged_into` is the live memory with the same text that took the restored one in, if there was one."""

    uid: str
    merged_into: str | None = None


@dataclass(frozen=True)
class Purged:
    """`scrubbed`: no byte of what was removed is left in the file; false means that it must be tried again."""

    forgotten: int = 0
    expired: int = 0
    scrubbed: bool = True
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Memories by what they are; every field that is given must match. `before` is a bound of valid_from."""

    scope: str = ""
    project: str | None = None
    kind: str = ""
    tier: str = ""
    tag: str = ""
    source: str = ""
    before: str | date | None = None

    def memories(self) -> MemoryQuerySet:
        given = {"scope": self.scope, "kind": self.kind, "tier": self.tier, "source": self.source}
        for name, choices in (("kind", Kind), ("tier", Tier), ("source", Source)):
            if given[name]:
                one_of(choices, given[name], name=name)
        where = Q(**{name: value for name, value in given.items() if value})
        if self.project is not None:
            where &= Q(project=self.project)
        moment = clock.moment(self.before, name="before")
        if moment:
            where &= Q(valid_from__lt=moment)
        tags = labels([self.tag]) if self.tag else []
        if not where and not tags:
            raise Rejected("Name at least one uid or filter; nothing is forgotten without.")
        return Memory.objects.filter(where, deleted_at=None).tagged(tags)


def find(uid: str, *, scope: str | None = None, expired: bool = False) -> Memory:
    """The memory of a uid that is not forgotten, nor expired unless that is asked for, in a scope if one is given.

    Raises NotFound.
    """
    memories = Memory.objects.identified([uid]).filter(deleted_at=None)
    if not expired:
        memories = memories.unexpired(clock.now())
    memory: Memory | None = (memories.in_scope(scope) if scope else memories).first()
    if memory is None:
        raise NotFound(f"There is no memory {uid[:40]}.")
    return memory


def find_in_reach(uid: str, principal: Principal) -> Memory:
    """Like `find`, for whom a memory out of reach is as unknown as one that does not exist."""
    memory = find(uid)
    if principal.scopes and memory.scope not in principal.scopes:
        raise NotFound(f"There is no memory {uid[:40]}.")
    return memory


def forget(uid: str, *, actor: str, scope: str | None = None, chain: bool = False) -> Forgotten:
    """Take a memory out of every read path at once; `chain` takes the versions it replaced too."""
    now = clock.now()
    with transaction.atomic():
        memory = find(uid, scope=scope, expired=True)
        leaving = [memory, *(replaced_by(memory) if chain else [])]
        remade = _mark_forgotten(leaving, spared=[one.pk for one in leaving], actor=actor, now=now)
        ended = conflicts.ended_by(leaving)
    return Forgotten((*(one.uid for one in leaving), *remade), tuple(ended))


def forget_all(memories: MemoryQuerySet, *, actor: str, progress: Progress | None = None) -> Forgotten:
    """Forget every memory of a queryset."""
    now = clock.now()
    leaving = list(memories.filter(deleted_at=None).only("pk", "uid", "scope"))
    spared = {one.pk for one in leaving}
    remade: list[str] = []
    for done, batch in enumerate(batched(leaving, BATCH, strict=False), start=1):
        with transaction.atomic():
            remade += _mark_forgotten(batch, spared=spared, actor=actor, now=now)
        if progress:
            progress(min(done * BATCH, len(leaving)), len(leaving))
    return Forgotten((*(one.uid for one in leaving), *remade))


def _mark_forgotten(memories: Iterable[Memory], *, spared: Collection[int], actor: str, now: datetime) -> list[str]:
    """Summaries of them are made anew without them, save for those `spared`; gives the uids of the old summaries."""
    leaving = list(memories)
    for batch in batched(leaving, BATCH, strict=False):
        Memory.objects.filter(pk__in=[one.pk for one in batch]).update(deleted_at=now, updated_at=now)
    for scope in {one.scope for one in leaving}:
        uids = [one.uid for one in leaving if one.scope == scope]
        audit.record_each("forget", uids, actor=actor, scope=scope, now=now)
    return [
        uid
        for batch in batched(leaving, BATCH, strict=False)
        for uid in summaries.without_forgotten([one.pk for one in batch], spared=spared, actor=actor, now=now)
    ]


def restore(uid: str, *, actor: str, scope: str | None = None) -> Restored:
    """Bring a forgotten memory back, or one that ended by a contradiction to a memory that is forgotten since.

    If the same text lives meanwhile, the two become one.
    """
    now = clock.now()
    with transaction.atomic():
        found = restorable(uid)
        memory = (found.in_scope(scope) if scope else found).first()
        if memory is None:
            raise NotFound(f"There is no forgotten memory {uid[:40]}.")
        twin = (
            conflicts.revive(memory, actor=actor, now=now)
            if memory.deleted_at is None
            else _remember_again(memory, now=now)
        )
        merged = twin.uid if twin else None
        audit.record("restore", actor=actor, scope=memory.scope, now=now, uid=uid, merged_into=merged)
    return Restored(uid, merged)


def restorable(uid: str) -> MemoryQuerySet:
    """The memory of a uid, if it can be restored."""
    known = Memory.objects.identified([uid])
    return known.forgotten() | known.filter(pk__in=conflicts.orphans().values("pk"))


def _remember_again(memory: Memory, *, now: datetime) -> Memory | None:
    """Gives the living twin that took a forgotten memory in, if there was one."""
    twin = live_twin(memory, now=now) if memory.valid_to is None else None
    if twin:
        merge(memory, twin, now=now)
    memory.deleted_at = None
    memory.updated_at = now
    memory.save(update_fields=["deleted_at", "updated_at"])
    return twin


def doomed(now: datetime) -> tuple[int, int]:
    """How many memories a purge would remove now: (forgotten, expired)."""
    forgotten = Memory.objects.forgotten()
    return forgotten.count(), Memory.objects.filter(deleted_at=None).expired(now).count()


def purge(
    *, actor: str, scrub: Sequence[Scrub] = (), archive: Archive | None = None, progress: Progress | None = None
) -> Purged:
    """Remove what is forgotten or expired, from the bytes on disk too; what is superseded is history and stays.

    Each function in `scrub` is called with the uids of a batch inside the transaction that removes them; before it,
    `archive` with the ids of those that have expired. What it raises ends the purge.
    """
    now = clock.now()
    forgotten, expired = doomed(now)
    everything = (Memory.objects.forgotten() | Memory.objects.expired(now)).order_by()
    ids = list(everything.values_list("pk", flat=True))
    for done, batch in enumerate(batched(ids, BATCH, strict=False), start=1):
        with transaction.atomic():
            if done == 1:
                audit.record("purge", actor=actor, scope="", now=now, forgotten=forgotten, expired=expired)
            # What was restored, or stored again, meanwhile is no longer among them.
            rows = dict(everything.filter(pk__in=batch).values_list("pk", "uid"))
            if archive:
                archive(_not_forgotten(rows))
            _remove(rows)
            for function in scrub:
                function([*rows.values()])
        if progress:
            progress(min(done * BATCH, len(ids)), len(ids))
    search.vendor(connection.vendor).forget_changes(keep=CHANGES_KEPT)
    if _is_scrubbed():
        return Purged()
    scrubbed, reason = _scrub()
    audit.record("scrub", actor=actor, scope="", now=now, scrubbed=scrubbed)
    return Purged(forgotten, expired, scrubbed, reason)


def _not_forgotten(ids: Collection[int]) -> list[int]:
    return list(Memory.objects.filter(pk__in=ids, deleted_at=None).order_by("pk").values_list("pk", flat=True))


def _remove(ids: Collection[int]) -> None:
    Passage.objects.filter(memory__in=ids).delete()
    Conflict.objects.filter(Q(older__in=ids) | Q(newer__in=ids)).delete()
    rows = Memory.objects.filter(pk__in=ids)
    for version in rows.exclude(superseded_by=None).oldest_first().only("pk", "superseded_by_id"):
        version.supersedes.update(superseded_by=version.superseded_by_id)  # the chain closes over the gap
    Memory.objects.filter(superseded_by__in=ids).update(superseded_by=None)
    rows._raw_delete(rows.db)  # noqa: SLF001 - everything that refers to them is gone; collecting would read the texts


def _is_scrubbed() -> bool:
    """Whether nothing was removed since the bytes of all that was removed were scrubbed."""
    last = AuditEntry.objects.filter(action__in=["purge", "scrub"]).order_by("-pk").first()
    return last is None or bool(last.detail.get("scrubbed"))


def _scrub() -> tuple[bool, str]:
    try:
        with search.patience(MOST_WAIT_MS):
            scrubbed = search.vendor(connection.vendor).scrub()
    except DatabaseError as error:
        return False, f"{error}."
    return scrubbed, "" if scrubbed else "Another connection still reads the old state."


def backup(target: Path) -> Path:
    """Copy the database, while it is in use, to a new file that only its owner may read. Returns its path."""
    if target.exists():
        raise Rejected(f"{target} exists already; a backup never overwrites a file.")
    if not target.parent.is_dir():
        raise Rejected(f"{target.parent} is not a folder.")
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    os.close(handle)
    try:
        search.vendor(connection.vendor).backup(Path(name))
        os.link(name, target)  # whole or not at all: half a copy opens as an empty database
    except FileExistsError:
        raise Rejected(f"{target} exists already; a backup never overwrites a file.") from None
    finally:
        Path(name).unlink(missing_ok=True)
    return target


@dataclass(frozen=True)
class Backfilled:
    """`repaired` memories got their vectors, `pending` ones still wait."""

    repaired: int = 0
    pending: int = 0


def backfill(*, progress: Progress | None = None) -> Backfilled:
    """Make the vectors that are missing; what another backfill makes meanwhile is not made twice.

    It may be broken off and goes on where it was. Raises EmbeddingFailed when the model fails.
    """
    done = 0
    for done, left in enumerate(embedding.repair(), start=1):
        if progress:
            progress(done, done + left)
    pending = embedding.count_pending()
    return Backfilled(max(0, done - pending), pending)


def reindex(*, progress: Progress | None = None) -> int:
    """Make the full-text indexes and triggers anew from the memories. Returns how many memories there are."""
    index = search.vendor(connection.vendor)
    total = Memory.objects.count()
    with transaction.atomic(), connection.cursor() as cursor:
        for statement in (*index.uninstall(), *index.install()):
            cursor.execute(statement)
        for done, memory in enumerate(_with_stale_segments(), start=1):
            memory.save(update_fields=["segments"])
            if progress:
                progress(done, total)
    return total


def _with_stale_segments() -> Iterator[Memory]:
    for memory in Memory.objects.order_by().only("pk", "content", "segments").iterator(BATCH):
        fresh = segments(memory.content)
        if fresh != memory.segments:
            memory.segments = fresh
            yield memory


def problems() -> list[str]:
    """What is wrong with the database and its indexes, one sentence each."""
    return list(search.vendor(connection.vendor).problems())
