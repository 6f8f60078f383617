"""The one place where a purge is put together from what the apps hold; REST, admin, scheduler and command call it."""

import logging
import time
from collections.abc import Callable

from memories import clock, embedders, embedding, lifecycle
from memories.embedders import EmbeddingFailed
from memories.lifecycle import Progress, Purged
from memsite import spool
from telemetry import services as telemetry

RETRY_SECONDS = 60.0
log = logging.getLogger(__name__)


def purge(*, actor: str, progress: Progress | None = None) -> Purged:
    """Remove what is forgotten or expired, and what other tables and the spool kept of it."""
    telemetry.purge(now=clock.now())
    spool.scrub()
    return lifecycle.purge(actor=actor, scrub=(telemetry.forget_queries,), progress=progress)


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


def _patiently(repair: Callable[[], int]) -> None:
    """Until it succeeds: a server may come back."""
    while True:
        try:
            repair()
        except EmbeddingFailed:
            time.sleep(RETRY_SECONDS)
        except Exception:
            log.exception("Embedding in the background failed.")
            time.sleep(RETRY_SECONDS)
        else:
            return
