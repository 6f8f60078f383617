"""What happens by itself while the service runs (`MEMORY_SCHEDULER=1`): consolidation, and a purge every hour.

Of several processes on one database one works, by a lease that it renews; if it is killed another takes over when the
lease ends. When something is due next is kept in the database too, so that a restart neither repeats nor delays it.
"""

import logging
import os
import socket
import sys
import threading
from datetime import UTC, datetime

from apscheduler.executors.base import BaseExecutor, run_job
from apscheduler.job import Job
from apscheduler.schedulers.background import BackgroundScheduler
from django.conf import settings

from memories import leases
from memories.errors import Conflict
from memories.models import new_uid
from memories.truth import consolidation
from memsite import background, maintenance

LEASE = "scheduler"
LEASE_SECONDS = 60.0
RENEW_SECONDS = 15.0
TICK_SECONDS = 20.0
"""How often it is asked whether something is due."""
PURGE_SECONDS = 3600.0
ACTOR = "scheduler"
STOP_SECONDS = 1.0
"""Longest wait for the database at the end; then the lease ends by itself."""
QUIET = "apscheduler"

log = logging.getLogger(__name__)


class _DaemonThreads(BaseExecutor):  # type: ignore[misc]  # apscheduler has no types
    """A thread a job, for which the end of the process does not wait: every transaction may be broken off."""

    def _do_submit_job(self, job: Job, run_times: list[datetime]) -> None:
        def work() -> None:
            try:
                events = run_job(job, job._jobstore_alias, run_times, QUIET)  # noqa: SLF001 - as its executors do
            except BaseException:  # noqa: BLE001 - the scheduler is told
                self._run_job_error(job.id, *sys.exc_info()[1:])
            else:
                self._run_job_success(job.id, events)

        threading.Thread(target=work, name=f"scheduler-{job.id}", daemon=True).start()


class Scheduler:
    """One a process. Its jobs never overlap, and their errors are logged."""

    def __init__(self) -> None:
        self.owner = f"{socket.gethostname()[:100]}:{os.getpid()}:{new_uid()}"
        self._is_owner = False
        self._ending = False
        self._scheduler = BackgroundScheduler(
            daemon=True,
            timezone=UTC,
            executors={"default": _DaemonThreads()},
            job_defaults={"coalesce": True, "max_instances": 1, "misfire_grace_time": None},
        )

    def start(self) -> None:
        logging.getLogger(QUIET).setLevel(logging.CRITICAL)  # a job that is still at work is no news
        for job, seconds in ((self._renew, RENEW_SECONDS), (self._work, TICK_SECONDS)):
            self._scheduler.add_job(
                background.logged(job, name=job.__name__),
                "interval",
                seconds=seconds,
                id=job.__name__,
                next_run_time=datetime.now(UTC),
            )
        self._scheduler.start()

    def stop(self) -> None:
        """End at once: what is at work is broken off where it is, and another process may go on."""
        self._ending = True
        self._scheduler.shutdown(wait=False)
        if self._is_owner:
            release = background.logged(lambda: leases.release(LEASE, owner=self.owner), name="release")
            releasing = threading.Thread(target=release, daemon=True)
            releasing.start()
            releasing.join(STOP_SECONDS)

    def _renew(self) -> None:
        if self._ending:
            return
        claimed = leases.claim(LEASE, owner=self.owner, seconds=LEASE_SECONDS)
        if claimed and not self._is_owner:
            log.info("This process (%s) does what is scheduled", os.getpid())
        self._is_owner = claimed

    def _work(self) -> None:
        self._renew()
        if self._is_due("purge", PURGE_SECONDS):
            maintenance.purge(actor=ACTOR)
        if self._is_due("consolidation", 60.0 * settings.MEMORY.consolidation_interval_minutes):
            try:
                done = consolidation.consolidate(actor=ACTOR, unasked=True)
            except Conflict as busy:
                log.info("%s", busy)
                return
            if done.run:
                log.info("Consolidation %s made %s memories of similar ones", done.run, len(done.clusters))

    def _is_due(self, name: str, seconds: float) -> bool:
        if not self._is_owner or self._ending or not seconds:
            return False
        return leases.claim_turn(name, owner=self.owner, seconds=seconds)


_running: Scheduler | None = None


def start() -> None:
    """Schedule in this process, if it is switched on."""
    global _running  # noqa: PLW0603 - one a process
    if settings.MEMORY.scheduler and _running is None:
        _running = Scheduler()
        _running.start()


def stop() -> None:
    global _running  # noqa: PLW0603
    if _running is not None:
        _running.stop()
        _running = None
