"""What really entered prompts, and what is known of the sessions it entered. Written by interfaces, read by people."""

from typing import ClassVar

from django.db import models
from django.utils import timezone

from memories.models import label_field


class HarnessSession(models.Model):
    """One conversation of one agent program."""

    scope = label_field()
    harness = label_field(blank=True, default="")
    session = label_field()
    project = label_field(blank=True, default="")
    context_started_at = models.DateTimeField(default=timezone.now)
    prompts = models.PositiveIntegerField(default=0)
    transcript_offset = models.PositiveBigIntegerField(default=0)
    last_seen = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint("scope", "harness", "session", name="harness_session_unique")]

    def __str__(self) -> str:
        return f"{self.harness} {self.session}".strip()


class Injection(models.Model):
    """A block that entered a prompt, as reported by the injecting side."""

    at = models.DateTimeField(default=timezone.now, db_index=True)
    harness = label_field(blank=True, default="")
    hook = label_field(blank=True, default="")
    scope = label_field()
    project = label_field(blank=True, default="")
    session = label_field(blank=True, default="")
    query = models.TextField(blank=True, default="")
    chars = models.PositiveIntegerField(default=0)
    fingerprint = models.CharField(max_length=64, blank=True, default="")
    prompt = models.PositiveIntegerField(default=0)
    """Which prompt of its session it was, counted from 1; 0 without a session."""

    class Meta:
        ordering: ClassVar = ["-at", "-pk"]
        indexes: ClassVar = [models.Index("scope", "harness", "session", name="injection_by_session")]

    def __str__(self) -> str:
        return f"{self.harness} {self.hook} {self.at:%Y-%m-%d %H:%M}".strip()


class InjectedMemory(models.Model):
    """One memory of an injection. The uid stays when the memory is purged."""

    injection = models.ForeignKey(Injection, models.CASCADE, related_name="memories", db_index=False)
    memory_uid = models.CharField(max_length=32, db_index=True)

    class Meta:
        verbose_name_plural = "injected memories"
        constraints: ClassVar = [models.UniqueConstraint("injection", "memory_uid", name="injected_memory_unique")]

    def __str__(self) -> str:
        return self.memory_uid
