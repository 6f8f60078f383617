from argparse import ArgumentParser
from typing import Any

from memories import lifecycle
from memsite.management.store_command import StoreCommand


class Command(StoreCommand):
    help = "Bring memories back: forgotten ones, and those that a forgotten one had ended as contradicting it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("uids", nargs="+", metavar="UID")
        parser.add_argument("--dry-run", action="store_true", help="only say what would be restored")

    def handle(self, *, uids: list[str], dry_run: bool, **_options: Any) -> None:
        for uid in uids:
            if dry_run:
                known = lifecycle.restorable(uid).exists()
                self.say(f"Would restore {uid}." if known else f"There is no forgotten memory {uid}.")
                continue
            restored = lifecycle.restore(uid, actor=self.actor())
            into = f" into {restored.merged_into}, which says the same" if restored.merged_into else ""
            self.say(f"Restored {uid}{into}.")
