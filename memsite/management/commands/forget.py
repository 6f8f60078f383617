from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from memories import lifecycle
from memories.lifecycle import Selection
from memories.models import Kind, Source, Tier
from memories.texts import counted
from memories.truth.chains import replaced_by
from memsite.management.store_command import StoreCommand

FILTERS = ("scope", "project", "kind", "tier", "tag", "source", "before")


class Command(StoreCommand):
    help = "Forget memories by uid, or all that match every given filter. `restore` brings them back until a purge."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("uids", nargs="*", metavar="UID")
        parser.add_argument("--chain", action="store_true", help="with uids: the versions they replaced too")
        parser.add_argument("--scope", default="")
        parser.add_argument("--project", help='"" for memories that belong to no project')
        parser.add_argument("--kind", default="", choices=["", *Kind.values])
        parser.add_argument("--tier", default="", choices=["", *Tier.values])
        parser.add_argument("--tag", default="")
        parser.add_argument("--source", default="", choices=["", *Source.values])
        parser.add_argument("--before", metavar="DATE", help="those that hold since before this date or time")
        parser.add_argument("--dry-run", action="store_true", help="only say what would be forgotten")

    def handle(self, *, uids: list[str], chain: bool, dry_run: bool, **options: Any) -> None:
        filters = {name: options[name] for name in FILTERS if options[name] not in ("", None) or name == "project"}
        if uids and any(value is not None for value in filters.values()):
            raise CommandError("Name uids or filters, not both.")
        if uids:
            self._forget_each(uids, chain=chain, dry_run=dry_run)
            return
        memories = Selection(**filters).memories()
        if dry_run:
            self.say(f"Would forget {counted(memories.count())}.")
            return
        forgotten = lifecycle.forget_all(memories, actor=self.actor(), progress=self.progress)
        self.say(f"Forgot {counted(len(forgotten.uids))}.")

    def _forget_each(self, uids: list[str], *, chain: bool, dry_run: bool) -> None:
        for uid in uids:
            memory = lifecycle.find(uid, expired=True)
            if dry_run:
                count = 1 + (len(replaced_by(memory)) if chain else 0)
                self.say(f"Would forget {uid} ({count}).")
            else:
                forgotten = lifecycle.forget(uid, actor=self.actor(), chain=chain)
                self.say(f"Forgot {', '.join(forgotten.uids)}.")
                for ended in forgotten.ended:
                    self.say(f"An older one that it had ended stays so; if it holds again: memory-mcp restore {ended}")
