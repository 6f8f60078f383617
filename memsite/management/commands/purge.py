from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from memories import clock, lifecycle
from memsite import maintenance
from memsite.management.store_command import StoreCommand


class Command(StoreCommand):
    help = "Remove forgotten and expired memories, from the bytes on disk too. Superseded ones are history and stay."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="only say what would be removed")
        parser.add_argument("--archive", metavar="FILE", help="first append what has expired to a file for `import`")

    def handle(self, *, dry_run: bool, archive: str | None = None, **_options: Any) -> None:
        if dry_run:
            forgotten, expired = lifecycle.doomed(clock.now())
            self.say(f"Would remove {forgotten} forgotten and {expired} expired memories.")
            return
        purged = maintenance.purge(
            actor=self.actor(),
            archive=Path(archive).expanduser().absolute() if archive else None,
            progress=self.progress,
        )
        self.say(f"Removed {purged.forgotten} forgotten and {purged.expired} expired memories.")
        self.say("scrubbed: true" if purged.scrubbed else f"scrubbed: false ({purged.reason} Try again later.)")
