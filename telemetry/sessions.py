"""Sessions of agent programs: what their context holds, and how far their transcript is captured."""

import logging
from dataclasses import dataclass
from datetime import datetime

from django.db import IntegrityError, OperationalError, transaction

from memories import clock, search
from memories.conf import config
from memories.places import label
from telemetry.models import HarnessSession, InjectedMemory, Injection

MOST_WAIT_MS = 200
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Context:
    """`uids` are still in the session's context, `fingerprint` is that of the last block reported in it."""

    uids: frozenset[str] = frozenset()
    fingerprint: str = ""


def next_prompt(*, scope: str, harness: str, session: str, reset: bool = False) -> Context:
    """Count one more prompt of a session and say what its context holds; `reset` starts the context afresh.

    A prompt never waits for a writer: if the count cannot be kept at once it is not kept.
    """
    now = clock.now()
    place = {"scope": scope, "harness": label(harness, name="harness"), "session": label(session, name="session")}
    if not place["session"]:
        return Context()
    try:
        with search.patience(MOST_WAIT_MS), transaction.atomic():
            row = _one_more(place, now=now, reset=reset)
            row.save()
    except (OperationalError, IntegrityError) as error:
        log.info("A prompt of a session was not counted: %s", error)
        row = _one_more(place, now=now, reset=reset)
    return Context() if reset else _context(row)


def _one_more(place: dict[str, str], *, now: datetime, reset: bool) -> HarnessSession:
    row = HarnessSession.objects.filter(**place).first() or HarnessSession(**place, context_started_at=now)
    row.prompts += 1
    row.last_seen = now
    if reset:
        row.context_started_at = now
    return row


def _context(row: HarnessSession) -> Context:
    held = Injection.objects.filter(
        scope=row.scope, harness=row.harness, session=row.session, at__gte=row.context_started_at
    )
    if config().reinject_after:
        held = held.filter(prompt__gt=row.prompts - config().reinject_after)
    uids = InjectedMemory.objects.filter(injection__in=held).values_list("memory_uid", flat=True)
    last = held.values_list("fingerprint", flat=True).first()
    return Context(frozenset(uids), last or "")


def start_afresh(*, scope: str, harness: str, session: str) -> None:
    """Nothing that was injected before is in the context any more. Never waits long: a prompt may be next."""
    now = clock.now()
    known = HarnessSession.objects.filter(scope=scope, harness=harness, session=label(session, name="session"))
    if not session or not known.exists():
        return
    try:
        with search.patience(MOST_WAIT_MS), transaction.atomic():
            known.update(context_started_at=now, last_seen=now)
    except OperationalError as error:
        log.info("A session could not be started afresh: %s", error)


def last_query(*, scope: str, harness: str, session: str) -> str:
    """The last prompt of a session that something was injected for."""
    found = Injection.objects.filter(scope=scope, harness=harness, session=label(session, name="session"))
    return (found.exclude(query="").values_list("query", flat=True).first() or "") if session else ""


def captured_until(*, scope: str, harness: str, session: str) -> int:
    """The byte of its transcript up to which a session is captured."""
    found = HarnessSession.objects.filter(scope=scope, harness=harness, session=label(session, name="session"))
    return (found.values_list("transcript_offset", flat=True).first() or 0) if session else 0


def note_captured(offset: int, *, scope: str, harness: str, session: str) -> None:
    if not session:
        return
    now = clock.now()
    name = label(session, name="session")
    try:
        with transaction.atomic():
            HarnessSession.objects.update_or_create(
                scope=scope,
                harness=harness,
                session=name,
                defaults={"transcript_offset": offset, "last_seen": now},
                create_defaults={"transcript_offset": offset, "context_started_at": now, "last_seen": now},
            )
    except IntegrityError:  # another hook of the session was quicker to make it known
        HarnessSession.objects.filter(scope=scope, harness=harness, session=name).update(transcript_offset=offset)
