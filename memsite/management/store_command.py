"""What every command on the store shares: the store is made ready first, and a terminal sees progress."""

import getpass
from typing import Any

from django.core.management.base import BaseCommand

from memsite.store import prepare_store


class StoreCommand(BaseCommand):
    requires_system_checks: list[str] = []  # noqa: RUF012 - as Django declares it

    def execute(self, *args: Any, **options: Any) -> str | None:
        prepare_store()
        return super().execute(*args, **options)

    def actor(self) -> str:
        """On whose behalf a command acts: the user at the terminal."""
        try:
            return f"cli:{getpass.getuser()}"
        except OSError:
            return "cli"

    def say(self, text: str) -> None:
        self.stdout.write(text)

    def progress(self, done: int, total: int) -> None:
        if self.stderr.isatty():
            self.stderr.write(f"\r{done:,} of {total:,}", ending="\n" if done >= total else "")
