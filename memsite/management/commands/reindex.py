from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from memories import lifecycle
from memories.texts import counted
from memsite.management.store_command import StoreCommand


class Command(StoreCommand):
    help = "Make the full-text indexes and triggers anew from the memories."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--check", action="store_true", help="only say what is wrong; exit code 1 if anything")

    def handle(self, *, check: bool, **_options: Any) -> None:
        if not check:
            self.say(f"Indexed {counted(lifecycle.reindex(progress=self.progress))}.")
        found = lifecycle.problems()
        if found:
            raise CommandError("\n".join(found))
        self.say("The database and its indexes are sound.")
