"""Changing what surrounds a text: in place, audited. New text is a new memory (`remember` with `supersedes`)."""

from collections.abc import Sequence

from django.db import transaction

from memories import audit, clock
from memories.draft import labels, one_of
from memories.lifecycle import find
from memories.models import Kind, Memory, Reason
from memories.places import project_to_write
from memories.validity import live_twin, refresh, supersede


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
        memory = find(uid, scope=scope)
        changes: dict[str, object] = {}
        if tags is not None:
            changes["tags"] = labels(tags)
        if kind is not None:
            changes["kind"] = one_of(Kind, kind, name="kind")
        if project is not None:
            changes["project"] = project_to_write(project, cwd=None, scope=memory.scope)
        if pinned is not None:
            changes["pinned"] = pinned
        changed = sorted(name for name, value in changes.items() if getattr(memory, name) != value)
        for name in changed:
            setattr(memory, name, changes[name])
        if not changed:
            return memory
        memory.updated_at = now
        audit.record("edit", actor=actor, scope=memory.scope, now=now, uid=uid, fields=changed)
        twin = live_twin(memory, now=now) if "project" in changed and memory.valid_to is None else None
        if twin:
            refresh(twin, memory, now=now)
            supersede(memory, twin, reason=Reason.MERGE, at=twin.valid_from, now=now)
        memory.save(update_fields=[*changed, "updated_at"])
    return twin or memory
