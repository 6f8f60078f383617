"""The one place where a purge is put together from what the apps hold; REST, admin, scheduler and command call it."""

import logging

from memories import clock, lifecycle
from memories.lifecycle import Progress, Purged
from telemetry import services as telemetry

log = logging.getLogger(__name__)


def purge(*, actor: str, progress: Progress | None = None) -> Purged:
    """Remove what is forgotten or expired, and what other tables kept of it."""
    telemetry.purge(now=clock.now())
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
