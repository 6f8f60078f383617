"""Memories that say nearly the same, made one that says it all. A run can be undone; the next one changes nothing."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from itertools import batched

import numpy as np
from django.db import connection, transaction
from django.db.models import Exists, F, OuterRef, Q
from django.db.models.functions import Length
from filelock import FileLock, Timeout

from memories import audit, clock, embedders, embedding, errors, search
from memories.cleaning import poisoned
from memories.conf import config
from memories.embedders import Embedder, EmbeddingFailed, Vectors
from memories.errors import NotFound, StoreUnavailable
from memories.models import AuditEntry, Conflict, Kind, Memory, Tier, new_uid
from memories.querysets import ANY_PROJECT, MemoryQuerySet
from memories.truth import clusters, extracts, judges, summaries
from memories.truth.judges import JudgeFailed

LONGEST_ORIGINAL = 4000
"""Characters; a longer memory is a document of its own."""
PATIENCE_SECONDS = 60.0
"""How long one summary waits for the judge."""
MOST_FAILURES = 3
"""Of the judge in a run, after which it is asked no more."""
AT_ONCE = 500
UNDO = "undo"

type Progress = Callable[[int, int], None]
type Place = tuple[str, str, str]
"""Scope, project and kind."""


@dataclass(frozen=True)
class Cluster:
    """Memories that were, or would be, made one: `uids` oldest first, `uid` of the summary unless it is only a plan."""

    scope: str
    project: str
    kind: str
    uids: tuple[str, ...]
    text: str
    uid: str | None = None


@dataclass(frozen=True)
class Consolidated:
    """`run` undoes it all; "" if nothing was changed. `looked_at`: memories that could have been consolidated."""

    run: str = ""
    clusters: tuple[Cluster, ...] = ()
    looked_at: int = 0


@dataclass(frozen=True)
class Undone:
    """uids: originals that live again, summaries that are gone, and those left because of what happened since."""

    run: str
    restored: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


def consolidate(
    *,
    actor: str,
    scope: str = "",
    project: str | None = None,
    dry_run: bool = False,
    unasked: bool = False,
    progress: Progress | None = None,
) -> Consolidated:
    """Make one semantic memory of every cluster of episodic ones that are all alike, and supersede them.

    In one scope (none named: all), and in one project of it ("" for what holds everywhere; None or `*`: all of them).
    `unasked`, by a schedule, it leaves alone what was undone before and projects with few episodic memories. A dry run
    asks no judge. It may be broken off: each cluster is one transaction. Raises Conflict while another run is at work.
    """
    now = clock.now()
    known = _candidates(scope, project, unasked=unasked, now=now)
    if dry_run:
        return _plan(known, unasked=unasked)
    with _alone():
        return _Run(actor=actor, known=known, now=now).over(_places(known, unasked=unasked), progress=progress)


def _plan(known: MemoryQuerySet, *, unasked: bool) -> Consolidated:
    places = _places(known, unasked=unasked)
    found = [
        _cluster(originals, extracts.joined(one.content for one in originals))
        for place in places
        for originals in _clusters(_members(known, place))
    ]
    return Consolidated(clusters=tuple(found), looked_at=sum(places.values()))


def _cluster(originals: Sequence[Memory], text: str, uid: str | None = None) -> Cluster:
    first = originals[0]
    return Cluster(first.scope, first.project, first.kind, tuple(one.uid for one in originals), text, uid)


def _candidates(scope: str, project: str | None, *, unasked: bool, now: datetime) -> MemoryQuerySet:
    """What may be consolidated: nothing that ends by itself, was pinned, or is part of an open contradiction."""
    found: MemoryQuerySet = Memory.objects.current(now).filter(tier=Tier.EPISODIC, pinned=False, expires_at=None)
    found = found.exclude(kind=Kind.ARTIFACT).alias(length=Length("content")).filter(length__lte=LONGEST_ORIGINAL)
    open_pairs = Conflict.objects.filter(
        ~Q(verdict=Conflict.Verdict.REJECTED), older__valid_to=None, newer__valid_to=None
    )
    open_pairs = open_pairs.filter(older__deleted_at=None, newer__deleted_at=None)
    for side in ("older", "newer"):
        found = found.filter(~Exists(open_pairs.filter(**{side: OuterRef("pk")})))
    if scope:
        found = found.in_scope(scope)
    if project not in (None, ANY_PROJECT):
        found = found.filter(project=project)
    if unasked:
        found = found.filter(~Exists(AuditEntry.objects.filter(action=UNDO, memory_uid=OuterRef("uid"))))
    return found


def _places(known: MemoryQuerySet, *, unasked: bool) -> Mapping[Place, int]:
    """How many candidates there are by place, where there are enough of them."""
    counted = Counter(known.order_by("scope", "project", "kind").values_list("scope", "project", "kind"))
    of_project = Counter[tuple[str, str]]()
    for (scope, project, _), number in counted.items():
        of_project[scope, project] += number
    least = config().consolidation_min_episodic if unasked else 0
    return {
        place: number for place, number in counted.items() if number > 1 and of_project[place[0], place[1]] >= least
    }


def _members(known: MemoryQuerySet, place: Place) -> list[Memory]:
    scope, project, kind = place
    return list(known.filter(scope=scope, project=project, kind=kind).defer("segments").oldest_first())


def _clusters(members: Sequence[Memory]) -> list[list[Memory]]:
    embedder = embedders.current()
    vectors = _vectors(embedder, members) if embedder else {}
    scaled = _cosine(embedder) if embedder else 1.0
    groups = clusters.find(
        [one.content for one in members], vectors, least_cosine=scaled, longest=config().max_content_chars
    )
    return [[members[at] for at in group] for group in groups]


def _cosine(embedder: Embedder) -> float:
    """The raw cosine from which texts are alike for a model."""
    profile = embedder.profile
    return profile.unrelated + clusters.LEAST_SCALED * (profile.related - profile.unrelated)


def _vectors(embedder: Embedder, members: Sequence[Memory]) -> Mapping[int, Vectors]:
    """By position, the vectors of memories of a single passage: that of a part says little about the whole."""
    try:
        probe = embedder.documents(["probe"], patience=embedding.LOAD_SECONDS)  # its identity is known from now on
    except EmbeddingFailed:
        return {}
    at = {one.pk: position for position, one in enumerate(members)}
    found: dict[int, list[bytes]] = {}
    index = search.vendor(connection.vendor)
    for ids in batched(at, AT_ONCE, strict=False):
        for memory, *_, vector in index.vectors(embedder.identity, ids):
            found.setdefault(at[memory], []).append(vector)
    return {
        one: np.frombuffer(rows[0], "<f4")
        for one, rows in found.items()
        if [len(row) for row in rows] == [probe[0].nbytes]
    }


@contextmanager
def _alone() -> Iterator[None]:
    """One run at a time for a database; the lock of a process that was killed is free."""
    database = config().database
    lock = FileLock(database.with_name(f"{database.name}.consolidation.lock"), timeout=0, mode=0o600)
    try:
        lock.acquire()
    except Timeout:
        raise errors.Conflict(
            "Another consolidation is at work on this database; try again when it has ended."
        ) from None
    except OSError as error:
        raise StoreUnavailable(f"{lock.lock_file} cannot be locked: {error.strerror}.") from error
    try:
        yield
    finally:
        lock.release()


class _Run:
    def __init__(self, *, actor: str, known: MemoryQuerySet, now: datetime) -> None:
        self.actor, self.known, self.now = actor, known, now
        self.run = new_uid()
        self.failures = 0

    def over(self, places: Mapping[Place, int], *, progress: Progress | None) -> Consolidated:
        total, looked_at = sum(places.values()), 0
        made: list[Cluster] = []
        for place, number in places.items():
            found = _clusters(_members(self.known, place))
            for done, originals in enumerate(found, start=1):
                cluster = self._one(originals)
                if cluster:
                    made.append(cluster)
                if progress:
                    progress(looked_at + done * number // (len(found) + 1), total)
            looked_at += number
            if progress:
                progress(looked_at, total)
        return Consolidated(self.run if made else "", tuple(made), looked_at)

    def _one(self, originals: Sequence[Memory]) -> Cluster | None:
        """Consolidate a cluster. None if it cannot be now: then all is as before."""
        now = clock.now()
        text, by = self._text(originals)
        summary = summaries.draft(originals, text, actor=self.actor, run=self.run, now=now)
        if summary is None:
            return None
        embedded = embedding.embed(text)
        if not summaries.put_in_place(summary, originals, unchanged=self.known, embedded=embedded, by=by, now=now):
            return None
        if embedded.state == "pending":
            embedding.later(summary)
        return _cluster(originals, text, summary.uid)

    def _text(self, originals: Sequence[Memory]) -> tuple[str, str]:
        """The text of a summary and who wrote it: the judge only if nothing that must not change is missing."""
        texts = [one.content for one in originals]
        extract = extracts.joined(texts)
        judge = judges.current()
        if self.failures >= MOST_FAILURES:
            return extract, summaries.EXTRACT
        try:
            written = (judge.summarise(texts, patience=PATIENCE_SECONDS) or "").strip()
        except JudgeFailed:
            self.failures += 1
            return extract, summaries.EXTRACT
        self.failures = 0
        usable = written and len(written) <= config().max_content_chars and not poisoned(written)
        if usable and not extracts.lost(written, texts):
            return written, judge.name
        return extract, summaries.EXTRACT


def undo(run: str, *, actor: str, scopes: Collection[str] = ()) -> Undone:
    """Bring back the originals of a run, in some scopes (none named: all), and forget its summaries.

    A summary that was changed, stored again, superseded or forgotten meanwhile is left, with its originals. It may be
    broken off and repeated. Raises NotFound, and Conflict while a run is at work.
    """
    made = Memory.objects.filter(run=run) if run and run.isascii() else Memory.objects.none()
    if scopes:
        made = made.filter(scope__in=scopes)
    with _alone():
        if not made.exists():
            raise NotFound(f"There is no consolidation {run[:40]}.")
        restored: list[str] = []
        removed: list[str] = []
        left = [one.uid for one in made.exclude(_untouched()).oldest_first() if _is_left(one)]
        for pk in list(made.filter(_untouched()).oldest_first().values_list("pk", flat=True)):
            with transaction.atomic():
                summary = made.filter(_untouched(), pk=pk).first()
                if summary is None:
                    continue
                now = clock.now()
                uids = summaries.bring_back(summary, actor=actor, now=now)
                audit.record_each(UNDO, uids, actor=actor, scope=summary.scope, now=now)
            restored += uids
            removed.append(summary.uid)
    return Undone(run, tuple(restored), tuple(removed), tuple(left))


def _is_left(summary: Memory) -> bool:
    """A forgotten summary whose originals do not live again was forgotten otherwise than by an undo."""
    return summary.deleted_at is None or bool(summaries.originals_of(summary))


def _untouched() -> Q:
    return Q(deleted_at=None, valid_to=None, updated_at=F("created_at"))
