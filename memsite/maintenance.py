"""The one place where a purge is put together from what the apps hold; REST, admin, scheduler and command call it."""

import logging
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from django.db import DatabaseError, connections
from filelock import FileLock, Timeout

from memories import accesses, clock, embedders, embedding, lifecycle
from memories.conf import config
from memories.embedders import EmbeddingFailed
from memories.lifecycle import Progress, Purged
from memories.transfer.appending import appending
from memories.truth import judges, judging
from memsite import background, spool
from memsite.env import beside
from telemetry import retention

RETRY_SECONDS = 60.0
ROUND_SECONDS = 60.0
COUNT_EVERY_SECONDS = 2.0
log = logging.getLogger(__name__)


def purge(*, actor: str, archive: Path | None = None, progress: Progress | None = None) -> Purged:
    """Remove what is forgotten or expired, and what other tables and the spool kept of it.

    What has expired is appended to the file `archive` first; if it cannot be written, nothing more is removed.
    """
    retention.purge(now=clock.now())
    spool.scrub()
    scrub = (retention.forget_queries,)
    if archive is None:
        return lifecycle.purge(actor=actor, scrub=scrub, progress=progress)
    with appending(archive) as append:
        return lifecycle.purge(actor=actor, scrub=scrub, archive=append, progress=progress)


def run_at_start() -> None:
    """Purge once the service answers; a failure is logged and tried again at the next start."""
    try:
        purged = purge(actor="maintenance")
    except Exception:
        log.exception("Maintenance at start failed.")
        return
    if purged.forgotten or purged.expired:
        log.info("Purged %s forgotten and %s expired memories.", purged.forgotten, purged.expired)


def embed_for_ever() -> None:
    """Load the model, so that no prompt waits for it; then embed what was stored while it was not to be had."""
    if embedders.current() is None:
        return
    _patiently(lambda: sum(1 for _ in embedding.repair(ids=embedding.since_first_vector())))
    while True:
        embedding.something_noted.wait()
        _patiently(embedding.repair_noted)


def count_accesses_for_ever() -> None:
    """Write down now and then what was recalled."""
    one_round = background.logged(_count_accesses, name="counting recalls")
    while True:
        accesses.something_noted.wait()
        time.sleep(COUNT_EVERY_SECONDS)
        one_round()


def _count_accesses() -> None:
    try:
        accesses.keep()
    except DatabaseError as error:
        log.info("Some recalls were not counted: %s", error)


def judge_for_ever() -> None:
    """Ask the judge about what it could not say in time."""
    one_round = background.logged(_judge, name="judging")
    while True:
        judging.something_waits.clear()
        one_round()
        if not judges.current().is_slow:
            return
        judging.something_waits.wait(ROUND_SECONDS)


def _judge() -> None:
    """One process of a database at a time: what this one waits for, its next round finds."""
    with suppress(Timeout), FileLock(beside(config().database, ".judging.lock"), timeout=0, mode=0o600):
        judging.judge_pending()


def _patiently(repair: Callable[[], int]) -> None:
    """Until it succeeds: a server may come back."""
    while not _succeeds(repair):
        time.sleep(RETRY_SECONDS)


def _succeeds(repair: Callable[[], int]) -> bool:
    try:
        repair()
    except EmbeddingFailed:
        return False
    except Exception:
        log.exception("Embedding in the background failed.")
        return False
    finally:
        connections.close_all()
    return True
