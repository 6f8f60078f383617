"""Filters over memories that read like English. Each takes the moment it is asked for; nothing here reads a clock."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, Self

from django.db.models import Case, Exists, OuterRef, Q, QuerySet, Value, When

from memories.conf import config

ANY_PROJECT = "*"


def has_expired(now: datetime) -> Q:
    """Past the TTL or the retention, whatever else a memory is."""
    return Q(pinned=False, expires_at__lte=now) | _outlived(now)


def state_at(now: datetime) -> Case:
    """The one word for what became of a memory: what is listed nowhere any more comes before what is history."""
    return Case(
        When(deleted_at__isnull=False, then=Value("forgotten")),
        When(has_expired(now), then=Value("expired")),
        When(valid_to__isnull=False, then=Value("superseded")),
        default=Value("live"),
    )


def is_wrong() -> Q:
    """Forgotten, corrected, or the loser of a contradiction."""
    return Q(deleted_at__isnull=False) | Q(superseded_reason__in=["correction", "conflict"])


def _outlived(now: datetime) -> Q:
    """Artifacts past their retention: by age since they were last stored, refreshed or injected."""
    compaction = Q(source="compaction")
    rule = Q(pk__in=())
    for days, which in (
        (config().ttl_compaction_days, compaction),
        (config().ttl_artifact_days, ~compaction),
    ):
        if days:
            oldest = now - timedelta(days=days)
            idle = Q(updated_at__lt=oldest) & (Q(last_injected_at=None) | Q(last_injected_at__lt=oldest))
            rule |= which & idle
    return Q(kind="artifact", pinned=False) & rule


class MemoryQuerySet(QuerySet["Memory"]):  # type: ignore[name-defined]  # the plugin loses names in an import cycle
    def identified(self, uids: Iterable[str]) -> Self:
        """Those with one of the uids. What is not ASCII is nobody's uid: a lone surrogate cannot even be asked for."""
        return self.filter(uid__in=[uid for uid in uids if uid.isascii()])

    def live(self) -> Self:
        """Neither forgotten nor superseded."""
        return self.filter(deleted_at=None, valid_to=None)

    def forgotten(self) -> Self:
        return self.filter(deleted_at__isnull=False)

    def superseded(self) -> Self:
        return self.filter(deleted_at=None, valid_to__isnull=False)

    def expired(self, now: datetime) -> Self:
        """Past their TTL or their retention, whatever else they are."""
        return self.filter(has_expired(now))

    def unexpired(self, now: datetime) -> Self:
        """The opposite, in a form that a search can filter by cheaply."""
        kept = self.filter(Q(expires_at=None) | Q(expires_at__gt=now) | Q(pinned=True))
        for days, other_sources in (
            (config().ttl_artifact_days, Q(source="compaction")),
            (config().ttl_compaction_days, ~Q(source="compaction")),
        ):
            if days:
                oldest = now - timedelta(days=days)
                used = Q(updated_at__gte=oldest) | Q(last_injected_at__gte=oldest)
                kept = kept.filter(~Q(kind="artifact") | Q(pinned=True) | other_sources | used)
        return kept

    def current(self, now: datetime) -> Self:
        """What is true and kept now."""
        return self.live().filter(valid_from__lte=now).unexpired(now)

    def as_of(self, moment: datetime, now: datetime) -> Self:
        """What was true at `moment`, as far as it is still kept now."""
        valid = Q(valid_to=None) | Q(valid_to__gt=moment)
        return self.filter(valid, deleted_at=None, valid_from__lte=moment).unexpired(now)

    def in_scope(self, scope: str) -> Self:
        return self.filter(scope=scope)

    def in_project(self, project: str) -> Self:
        """The project and what holds everywhere; `*` is the whole scope, "" only what holds everywhere."""
        if project == ANY_PROJECT:
            return self
        return self.filter(project__in=[project, ""] if project else [""])

    def of_kinds(self, kinds: Iterable[str]) -> Self:
        wanted = list(kinds)
        return self.filter(kind__in=wanted) if wanted else self

    def tagged(self, tags: Iterable[str]) -> Self:
        """Carrying every one of the tags."""
        tagged = self
        for tag in tags:
            tagged = tagged.filter(tags__has=tag)
        return tagged

    def in_scopes(self, scopes: Iterable[str]) -> Self:
        """In one of the scopes; none named: in any."""
        wanted = list(scopes)
        return self.filter(scope__in=wanted) if wanted else self

    def never_recalled(self) -> Self:
        """Nobody has been told of them yet."""
        return self.filter(access_count=0, injection_count=0)

    def noise(self) -> Self:
        """What entered prompts and was found wrong later."""
        return self.filter(is_wrong(), injection_count__gt=0)

    def without_vectors(self, model: str = "") -> Self:
        """Those that have no vectors of a model, or of any, for their present text."""
        return self.filter(~Exists(self._passages(model)))

    def with_vectors(self, model: str = "") -> Self:
        """Those that have vectors of a model, or of any, for their present text."""
        return self.filter(Exists(self._passages(model)))

    def _passages(self, model: str) -> "QuerySet[Any]":
        passages = self.model._meta.get_field("passages").related_model._default_manager  # noqa: SLF001
        own: QuerySet[Any] = passages.filter(memory=OuterRef("pk"), text_hash=OuterRef("content_hash"))
        return own.filter(model=model) if model else own

    def oldest_first(self) -> Self:
        return self.order_by("valid_from", "pk")
