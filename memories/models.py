"""The tables. Rules live in `remember`, `recall` and `lifecycle`; filters in `querysets`."""

import uuid
from typing import ClassVar

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from memories.fields import TagsField
from memories.querysets import MemoryQuerySet

LABEL = 200
"""Longest scope, project, tag, session, harness or actor, in characters."""


def new_uid() -> str:
    return uuid.uuid4().hex


class Kind(models.TextChoices):
    PREFERENCE = "preference"
    DECISION = "decision"
    FACT = "fact"
    ARTIFACT = "artifact"


class Tier(models.TextChoices):
    WORKING = "working"
    EPISODIC = "episodic"
    SEMANTIC = "semantic"


class Source(models.TextChoices):
    CHAT = "chat"
    COMPACTION = "compaction"
    TOOL = "tool"
    MCP = "mcp", "MCP"
    API = "api", "API"
    ADMIN = "admin"
    IMPORT = "import"
    CONSOLIDATION = "consolidation"


class Reason(models.TextChoices):
    """Why a memory was superseded."""

    EDIT = "edit"
    CORRECTION = "correction"
    CONFLICT = "conflict"
    CONSOLIDATION = "consolidation"
    MERGE = "merge"


def label_field(**options: object) -> "models.CharField[str, str]":
    return models.CharField(max_length=LABEL, **options)  # type: ignore[arg-type]


class Memory(models.Model):
    uid = models.CharField(max_length=32, unique=True, default=new_uid, editable=False)
    scope = label_field()
    project = label_field(blank=True, default="")
    kind = models.CharField(max_length=16, choices=Kind, default=Kind.FACT)
    tier = models.CharField(max_length=16, choices=Tier, default=Tier.EPISODIC)
    source = models.CharField(max_length=16, choices=Source, default=Source.API)
    harness = label_field(blank=True, default="")
    session = label_field(blank=True, default="")
    actor = label_field(blank=True, default="")
    tags = TagsField(default=list, blank=True)
    content_hash = models.CharField(max_length=64, editable=False)
    pinned = models.BooleanField(default=False)
    confidence = models.FloatField(default=1.0, validators=[MinValueValidator(0), MaxValueValidator(1)])
    access_count = models.PositiveIntegerField(default=0, editable=False)
    injection_count = models.PositiveIntegerField(default=0, editable=False)
    last_accessed_at = models.DateTimeField(null=True, blank=True, editable=False)
    last_injected_at = models.DateTimeField(null=True, blank=True, editable=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(default=timezone.now, editable=False)
    valid_from = models.DateTimeField(default=timezone.now)
    valid_to = models.DateTimeField(null=True, blank=True)
    superseded_by = models.ForeignKey(
        "self", models.SET_NULL, null=True, blank=True, related_name="supersedes", editable=False
    )
    superseded_reason = models.CharField(max_length=16, choices=Reason, blank=True, default="", editable=False)
    expires_at = models.DateTimeField(null=True, blank=True)
    deleted_at = models.DateTimeField(null=True, blank=True, editable=False)
    run = models.CharField(max_length=32, blank=True, default="", editable=False)
    """Id of the consolidation that wrote this memory."""
    # Last in the row: filters read the columns before it without passing over the text.
    content = models.TextField()
    segments = models.TextField(blank=True, default="", editable=False)
    """Bigrams of runs in scripts without spaces, for full-text search (`memories.search.scripts`)."""

    objects = MemoryQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "memories"
        ordering: ClassVar = ["-updated_at", "-pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                "scope",
                "project",
                "content_hash",
                condition=Q(deleted_at=None, valid_to=None),
                name="memory_live_content_unique",
            ),
            models.CheckConstraint(condition=~Q(content=""), name="memory_content_not_empty"),
            models.CheckConstraint(
                condition=Q(valid_to=None) | Q(valid_to__gte=F("valid_from")), name="memory_interval_ordered"
            ),
            models.CheckConstraint(
                condition=Q(superseded_by=None) | ~Q(superseded_by=F("id")), name="memory_not_its_own_successor"
            ),
        ]
        indexes: ClassVar = [
            models.Index("scope", "project", F("updated_at").desc(), name="memory_by_project"),
            models.Index(F("updated_at").desc(), F("id").desc(), name="memory_newest"),
            models.Index("scope", "session", name="memory_by_session"),
            models.Index("content_hash", name="memory_by_text"),
        ]

    def __str__(self) -> str:
        """Never text: Django's admin log copies it."""
        return f"{self.uid} ({self.kind})"


class Passage(models.Model):
    memory = models.ForeignKey(Memory, models.CASCADE, related_name="passages", db_index=False)
    position = models.PositiveIntegerField()
    start = models.PositiveIntegerField()
    end = models.PositiveIntegerField()
    vector = models.BinaryField()
    """float32, L2-normalised, little endian."""
    model = models.CharField(max_length=LABEL)
    text_hash = models.CharField(max_length=64)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint("memory", "position", name="passage_position_unique"),
            models.CheckConstraint(condition=Q(end__gt=F("start")), name="passage_not_empty"),
        ]

    def __str__(self) -> str:
        return f"{self.memory_id}[{self.start}:{self.end}]"


class MemoryChange(models.Model):
    """What other processes must refresh. Rows are written by triggers only."""

    seq = models.BigAutoField(primary_key=True)
    memory_id = models.BigIntegerField()

    class Meta:
        db_table = "memory_changes"

    def __str__(self) -> str:
        return f"{self.seq}: {self.memory_id}"


class Conflict(models.Model):
    class Verdict(models.TextChoices):
        PENDING = "pending"
        CONFIRMED = "confirmed"
        REJECTED = "rejected"

    older = models.ForeignKey(Memory, models.CASCADE, related_name="newer_conflicts", db_index=False)
    newer = models.ForeignKey(Memory, models.CASCADE, related_name="older_conflicts")
    similarity = models.FloatField()
    verdict = models.CharField(max_length=16, choices=Verdict, default=Verdict.PENDING)
    judge = models.CharField(max_length=LABEL, blank=True, default="")
    evidence = models.TextField(blank=True, default="")
    reason = models.TextField(blank=True, default="")
    created_at = models.DateTimeField(default=timezone.now)
    decided_by = label_field(blank=True, default="")
    decided_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["-created_at", "-pk"]
        constraints: ClassVar = [
            models.UniqueConstraint("older", "newer", name="conflict_pair_unique"),
            models.CheckConstraint(condition=~Q(older=F("newer")), name="conflict_of_two"),
        ]

    def __str__(self) -> str:
        return f"conflict {self.pk} ({self.verdict})"


class AuditEntry(models.Model):
    """Who did what, append-only by triggers. `detail` never holds memory text."""

    at = models.DateTimeField(default=timezone.now)
    action = models.CharField(max_length=32)
    actor = label_field(blank=True, default="")
    scope = label_field(blank=True, default="")
    memory_uid = models.CharField(max_length=32, blank=True, default="", db_index=True)
    detail = models.JSONField(default=dict, blank=True)

    class Meta:
        verbose_name_plural = "audit entries"
        ordering: ClassVar = ["-pk"]

    def __str__(self) -> str:
        return f"{self.action} {self.memory_uid}".strip()


class AccessToken(models.Model):
    """A bearer token of one client; only its SHA-256 is kept."""

    name = label_field(unique=True)
    token_hash = models.CharField(max_length=64, unique=True, editable=False)
    scopes = TagsField(default=list, blank=True)
    """Empty: every scope."""
    may_write = models.BooleanField(default=True)
    may_maintain = models.BooleanField(default=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    last_used = models.DateTimeField(null=True, blank=True, editable=False)
    revoked = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return self.name


class Grant(models.Model):
    """A scope that an admin user who is no superuser may see."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="memory_grants", db_index=False)
    scope = label_field()

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint("user", "scope", name="grant_unique")]

    def __str__(self) -> str:
        return f"{self.user}: {self.scope}"


class ProjectAlias(models.Model):
    """Another name of a project: a rename, a fork, a second remote."""

    scope = label_field()
    alias = label_field()
    project = label_field()

    class Meta:
        verbose_name_plural = "project aliases"
        constraints: ClassVar = [models.UniqueConstraint("scope", "alias", name="alias_unique")]

    def __str__(self) -> str:
        return f"{self.alias} = {self.project}"


class Lease(models.Model):
    """Who of several processes does something, until when (`memories.leases`)."""

    name = label_field(unique=True)
    owner = label_field()
    until = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.name}: {self.owner}"


class Candidate(models.Model):
    """Text that may become a memory once a person accepts it; in no read path until then."""

    class State(models.TextChoices):
        WAITING = "waiting"
        ACCEPTED = "accepted"
        DISMISSED = "dismissed"

    scope = label_field()
    project = label_field(blank=True, default="")
    harness = label_field(blank=True, default="")
    session = label_field(blank=True, default="")
    content = models.TextField()
    at = models.DateTimeField(default=timezone.now)
    state = models.CharField(max_length=16, choices=State, default=State.WAITING)

    class Meta:
        ordering: ClassVar = ["-at", "-pk"]

    def __str__(self) -> str:
        return f"candidate {self.pk} ({self.state})"
