from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from memories import lifecycle
from memsite.management.store_command import StoreCommand


class Command(StoreCommand):
    help = "Copy the database to a new file while it is in use. To restore, stop the service and put the copy in place."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="a file that does not exist yet")

    def handle(self, *, file: Path, **_options: Any) -> None:
        self.say(f"Saved {lifecycle.backup(file.expanduser().absolute())}.")
