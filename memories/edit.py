"""Changing what surrounds a text: in place, audited. New text is a new memory (`remember` with `supersedes`)."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import batched

from django.db import transaction

from memories import audit, clock, validity
from memories.draft import labels, one_of
from memories.errors import Conflict, Rejected
from memories.lifecycle import BATCH, find
from memories.models import Kind, Memory
from memories.places import project_to_write
from memories.querysets import MemoryQuerySet
from memories.validity import live_twin


def edit(
    uid: str,
    *,
    actor: str,
    scope: str | None = None,
    tags: Sequence[str] | None = None,
    kind: str | None = None,
    project: str | None = None,
    pinned: bool | None = None,
) -> Memory:
    """Change tags, kind, project or pin. A move onto the same text in the other project makes the two one.

    Returns the memory that lives on. Raises NotFound and Rejected.
    """
    now = clock.now()
    with transaction.atomic():
        memory = find(uid, scope=scope, expired=True)  # pinned, it stays
        changes: dict[str, object] = {}
        if tags is not None:
            changes["tags"] = labels(tags)
        if kind is not None:
            changes["kind"] = one_of(Kind, kind, name="kind")
        if project is not None:
            changes["project"] = project_to_write(project, cwd=None, scope=memory.scope)
        if pinned is not None:
            changes["pinned"] = pinned
        return _changed(memory, changes, actor=actor, now=now) or memory


def edit_all(
    memories: MemoryQuerySet,
    *,
    actor: str,
    add_tags: Sequence[str] = (),
    remove_tags: Sequence[str] = (),
    project: str | None = None,
    pinned: bool | None = None,
) -> int:
    """Change every memory of a queryset that is not forgotten, a batch a transaction. Returns how many changed."""
    now = clock.now()
    added, removed = labels(add_tags), set(labels(remove_tags))
    changed = 0
    chosen = list(memories.filter(deleted_at=None).order_by("pk").values_list("pk", flat=True))
    for batch in batched(chosen, BATCH, strict=False):
        with transaction.atomic():
            for memory in Memory.objects.filter(pk__in=batch, deleted_at=None).order_by("pk"):
                changes: dict[str, object] = {}
                if added or removed:
                    changes["tags"] = labels([tag for tag in [*memory.tags, *added] if tag not in removed])
                if project is not None:
                    changes["project"] = project_to_write(project, cwd=None, scope=memory.scope)
                if pinned is not None:
                    changes["pinned"] = pinned
                changed += _changed(memory, changes, actor=actor, now=now) is not None
    return changed


def merge(uid: str, *, into: str, actor: str, scope: str | None = None) -> Memory:
    """Make one of two live memories of a scope: `into` becomes the stronger of both and supersedes the other.

    Returns the one that lives on. Raises NotFound, Rejected, and Conflict for one that is superseded.
    """
    now = clock.now()
    with transaction.atomic():
        memory, kept = find(uid, scope=scope), find(into.strip(), scope=scope)
        if memory.pk == kept.pk or memory.scope != kept.scope:
            raise Rejected("Two different memories of one scope can be merged.")
        for one in (memory, kept):
            if one.valid_to is not None:
                raise Conflict(f"Memory {one.uid} is already superseded.")
        validity.merge(memory, kept, now=now)
        audit.record("merge", actor=actor, scope=memory.scope, now=now, uid=memory.uid, into=kept.uid)
    return kept


def _changed(memory: Memory, changes: Mapping[str, object], *, actor: str, now: datetime) -> Memory | None:
    """The memory that lives on with the changes; None if they are none."""
    changed = sorted(name for name, value in changes.items() if getattr(memory, name) != value)
    if not changed:
        return None
    for name in changed:
        setattr(memory, name, changes[name])
    memory.updated_at = now
    audit.record("edit", actor=actor, scope=memory.scope, now=now, uid=memory.uid, fields=changed)
    twin = live_twin(memory, now=now) if "project" in changed and memory.valid_to is None else None
    if twin:
        validity.merge(memory, twin, now=now)
    memory.save(update_fields=[*changed, "updated_at"])
    return twin or memory
