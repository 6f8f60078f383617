"""Sessions of agent programs: where their context began, and how far their transcript is captured."""

import logging

from django.db import IntegrityError, OperationalError, transaction

from memories import clock, search
from memories.places import label
from telemetry.models import HarnessSession, Injection
from telemetry.services import MOST_WAIT_MS

log = logging.getLogger(__name__)


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
                defaults={"transcript_offset": offset},
                create_defaults={"transcript_offset": offset, "context_started_at": now, "last_seen": now},
            )
    except IntegrityError:  # another hook of the session was quicker to make it known
        HarnessSession.objects.filter(scope=scope, harness=harness, session=name).update(transcript_offset=offset)
