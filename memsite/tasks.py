"""The maintenance that a person can start in the admin, and who may."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, User

from memories import clock, lifecycle
from memories.errors import Forbidden, NotFound, Rejected
from memories.lifecycle import Progress
from memories.truth import consolidation
from memsite import jobs, maintenance
from memsite.access import authentication_is_on
from memsite.files import make_private_folder
from memsite.store import OWNER

CLOSED = (
    "Only while authentication is on: set MEMORY_TOKEN and restart, or make an access token with memory-mcp token."
    " On the command line memory-mcp purge and backfill work without."
)

type Visitor = User | AbstractBaseUser | AnonymousUser


@dataclass(frozen=True)
class Task:
    """`destroys` or rewrites much: it stands behind the double gate and asks to be confirmed."""

    name: str
    title: str
    text: str
    run: Callable[[str, Progress], str]
    is_gated: bool = False
    destroys: bool = False


def is_owner(user: Visitor) -> bool:
    """A superuser, or one of the group `owner`."""
    if not isinstance(user, User) or not user.is_active:
        return False
    return user.is_superuser or user.groups.filter(name=OWNER).exists()


def start(name: str, *, user: Visitor, confirmed: bool = False) -> None:
    """Start a task in the background. Raises Forbidden, NotFound, Rejected, and Conflict while another one runs."""
    task = TASKS.get(name)
    if task is None:
        raise NotFound(f"There is no maintenance task {name[:40]!r}.")
    if not is_owner(user):
        raise Forbidden("Maintenance needs a member of the group owner.")
    if task.is_gated and not authentication_is_on():
        raise Forbidden(CLOSED)
    if task.destroys and not confirmed:
        raise Rejected(f"{task.title} cannot be undone: tick that you mean it.")
    actor = user.get_username()
    jobs.start(name, lambda progress: task.run(actor, progress), actor=actor)


def _purge(actor: str, progress: Progress) -> str:
    purged = maintenance.purge(actor=actor, progress=progress)
    gone = f"Removed {purged.forgotten:,} forgotten and {purged.expired:,} expired memories."
    return f"{gone} scrubbed: {str(purged.scrubbed).lower()}{f' ({purged.reason})' if purged.reason else ''}"


def _backfill(_actor: str, progress: Progress) -> str:
    filled = lifecycle.backfill(progress=progress)
    return f"{filled.repaired:,} memories got their vectors; {filled.pending:,} still wait."


def _consolidate(actor: str, progress: Progress) -> str:
    done = consolidation.consolidate(actor=actor, progress=progress)
    if not done.run:
        return f"Looked at {done.looked_at:,} memories; nothing is to be joined."
    joined = sum(len(cluster.uids) for cluster in done.clusters)
    undo = f"memory-mcp consolidate --undo {done.run}"
    return f"Joined {joined:,} memories in {len(done.clusters):,}. To take it back: {undo}"


def _backup(_actor: str, _progress: Progress) -> str:
    target = backup_file()
    make_private_folder(target.parent)
    lifecycle.backup(target)
    return f"Saved {target} ({target.stat().st_size:,} bytes)."


def backup_file() -> Path:
    """Where a copy made now goes; the request names no path."""
    database: Path = settings.MEMORY.database
    return database.parent / "backups" / f"{database.stem}-{clock.now():%Y%m%d-%H%M%S}.db"


TASKS = {
    task.name: task
    for task in (
        Task(
            "purge",
            "Purge",
            "Removes what is forgotten or has expired for good, from the bytes on disk too. It cannot be undone.",
            _purge,
            is_gated=True,
            destroys=True,
        ),
        Task(
            "backfill",
            "Backfill vectors",
            "Makes the vectors that are missing, with the model in use. It may be broken off and goes on later.",
            _backfill,
            is_gated=True,
        ),
        Task(
            "consolidate",
            "Consolidate",
            "Makes one memory of those that say nearly the same. Nothing is lost, and each run can be undone.",
            _consolidate,
        ),
        Task(
            "backup",
            "Back up",
            "Copies the whole database, while it is in use, to a new file in the folder backups beside it.",
            _backup,
        ),
    )
}
