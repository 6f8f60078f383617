"""Maintenance in the background: one job at a time on a database, whichever process runs it, and what came of the last.

The state is a small file beside the database: any process that serves can show it.
"""

import json
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path

from django.conf import settings
from django.db import connections
from filelock import FileLock, Timeout

from memories import clock
from memories.errors import Conflict, MemoriesError
from memories.lifecycle import Progress
from memsite.env import beside
from memsite.files import write_private

NOTED_EVERY_SECONDS = 0.5
LOOKED_AT_SECONDS = 0.2
"""Longer than it takes to see whether somebody holds the lock, for which it is held."""
log = logging.getLogger(__name__)

type Work = Callable[[Progress], str]
"""Does the job and returns its report."""


@dataclass(frozen=True)
class Job:
    """`state` is running, done, failed, or interrupted: the process that ran it ended."""

    name: str
    actor: str
    started: str
    state: str = "running"
    done: int = 0
    total: int = 0
    report: str = ""
    took_seconds: float = 0.0

    @property
    def is_running(self) -> bool:
        return self.state == "running"

    @property
    def started_at(self) -> datetime:
        return datetime.fromisoformat(self.started)


def start(name: str, work: Work, *, actor: str) -> None:
    """Begin a job and return at once. Raises Conflict while another one runs."""
    lock = _lock()
    try:
        lock.acquire(timeout=LOOKED_AT_SECONDS)
    except Timeout:
        raise Conflict("Another maintenance job is running; wait until it has ended.") from None
    job = Job(name, actor, clock.now().isoformat())
    try:
        _note(job)
        threading.Thread(target=_run, args=(job, work, lock), name=f"maintenance: {name}", daemon=True).start()
    except BaseException:
        lock.release()
        raise


def last() -> Job | None:
    """The job that runs, or the one that ran last."""
    job = _noted()
    if job is None or not job.is_running or _somebody_works():
        return job
    now = _noted()  # it may have ended, or the next one begun, while somebody was looked for
    return replace(job, state="interrupted") if now == job else now


def _run(job: Job, work: Work, lock: FileLock) -> None:
    started = noted = time.monotonic()

    def progress(done: int, total: int) -> None:
        nonlocal noted
        if time.monotonic() - noted >= NOTED_EVERY_SECONDS:
            noted = time.monotonic()
            _note(replace(job, done=done, total=total))

    try:
        ended = replace(job, state="done", report=work(progress))
    except MemoriesError as error:
        ended = replace(job, state="failed", report=str(error))
    except Exception as error:
        log.exception("The maintenance job %s failed.", job.name)
        ended = replace(job, state="failed", report=f"{type(error).__name__}; the service's log has more.")
    finally:
        connections.close_all()
    try:
        _note(replace(ended, took_seconds=round(time.monotonic() - started, 1)))
    finally:
        lock.release()


def _somebody_works() -> bool:
    lock = _lock()
    try:
        with lock.acquire(timeout=0):
            return False
    except Timeout:
        return True


def _lock() -> FileLock:
    path = beside(settings.MEMORY.database, ".maintenance.lock")
    return FileLock(path, mode=0o600, thread_local=False)


def _state_file() -> Path:
    return beside(settings.MEMORY.database, ".maintenance.json")


def _noted() -> Job | None:
    try:
        return Job(**json.loads(_state_file().read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def _note(job: Job) -> None:
    write_private(_state_file(), json.dumps(asdict(job)))
