"""Texts that wait for a person: in no read path until one accepts them."""

from django.db import transaction

from memories import audit, clock, stated
from memories.cleaning import poisoned
from memories.draft import Draft, readable
from memories.errors import Conflict, NotFound
from memories.models import Candidate, Source
from memories.places import label, project_to_write
from memories.querysets import ANY_PROJECT
from memories.remember import Remembered, remember

MOST_WAITING = 1000
"""In one scope: a person who never looks is not asked for ever."""


def propose(
    content: str, *, scope: str, cwd: str | None = None, harness: str = "", session: str = ""
) -> Candidate | None:
    """Let a text wait, cleaned and without secrets. None if it waits already, or is no text for a memory."""
    text, _redacted = readable(content)
    place = {"scope": scope, "project": project_to_write(None, cwd=cwd, scope=scope)}
    waiting = Candidate.objects.filter(scope=scope, state=Candidate.State.WAITING)
    if poisoned(text) or waiting.filter(project=place["project"], content=text).exists():
        return None
    if waiting.count() >= MOST_WAITING:
        return None
    names = {"harness": label(harness, name="harness"), "session": label(session, name="session")}
    return Candidate.objects.create(content=text, at=clock.now(), **place, **names)


def accept(candidate_id: int, *, actor: str) -> Remembered:
    """Make a memory of a candidate, true since it was said. Raises NotFound, or Conflict if it waits no more."""
    candidate = _waiting(candidate_id)
    kept = remember(
        Draft(
            content=candidate.content,
            kind=stated.kind_of(candidate.content) or "decision",
            source=Source.CHAT,
            scope=candidate.scope,
            project=candidate.project or ANY_PROJECT,
            harness=candidate.harness,
            session=candidate.session,
            actor=actor,
            valid_from=candidate.at,
        )
    )
    with transaction.atomic():
        _settle(_waiting(candidate_id), Candidate.State.ACCEPTED, actor=actor, uid=kept.uid or "")
    return kept


def dismiss(candidate_id: int, *, actor: str) -> None:
    """Drop a candidate. Raises NotFound, or Conflict if it waits no more."""
    with transaction.atomic():
        _settle(_waiting(candidate_id), Candidate.State.DISMISSED, actor=actor)


def _waiting(candidate_id: int) -> Candidate:
    candidate = Candidate.objects.filter(pk=candidate_id).first()
    if candidate is None:
        raise NotFound(f"There is no candidate {candidate_id}.")
    if candidate.state != Candidate.State.WAITING:
        raise Conflict(f"Candidate {candidate_id} was {candidate.state} already.")
    return candidate


def _settle(candidate: Candidate, state: Candidate.State, *, actor: str, uid: str = "") -> None:
    """Its text goes: a memory has it now, which may be purged, or nobody wants it."""
    candidate.state = state
    candidate.content = ""
    candidate.save(update_fields=["state", "content"])
    audit.record(state.value, actor=actor, scope=candidate.scope, now=clock.now(), uid=uid, candidate=candidate.pk)
