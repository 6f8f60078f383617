"""What installing and uninstalling share: which programs are meant, and how a change is told."""

import os
import sys
from argparse import ArgumentParser
from collections.abc import Iterable
from pathlib import Path

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError
from django.utils import timezone

from memsite.access import authentication_is_on
from memsite.install.changes import Change
from memsite.install.harnesses import ALIASES, HARNESSES, Harness
from memsite.install.installer import Installer
from memsite.install.places import Places
from memsite.install.service import Unit, unit
from memsite.install.unreadable import Unreadable
from memsite.install.wiring import program, wiring

SERVICE = "service"


def installer(places: Places, *, stdio: bool = False, authenticated: bool = False) -> Installer:
    """As the settings of this process want it."""
    default = Places.of({}).data() / "memory.db.server.json"
    wires = wiring(settings.MEMORY, stdio=stdio, authenticated=authenticated, default_discovery=default)
    return Installer(places, wires, timezone.now())


def is_authenticated() -> bool:
    """Whether clients have to send a token; a database that cannot be asked has none."""
    if settings.MEMORY.token:
        return True
    try:
        return settings.MEMORY.database.is_file() and authentication_is_on()
    except DatabaseError:
        return False


class InstallCommand(BaseCommand):
    requires_system_checks: list[str] = []  # noqa: RUF012 - as Django declares it

    def add_arguments(self, parser: ArgumentParser) -> None:
        names = ", ".join(HARNESSES)
        parser.add_argument("targets", nargs="*", metavar="target", help=f"{names}, or {SERVICE} (starts at login)")
        parser.add_argument("--all", action="store_true", help="every program that is in use here")
        parser.add_argument("--project", action="store_true", help="in the settings of this folder, not of the user")
        parser.add_argument("--dry-run", action="store_true", help="show what would change and write nothing")

    def places(self, *, project: bool) -> Places:
        return Places.of(os.environ, project=Path.cwd() if project else None)

    def named(self, targets: list[str]) -> list[Harness]:
        """Raises CommandError for a name that nobody has."""
        names = [ALIASES.get(name, name) for name in targets if name != SERVICE]
        for name in names:
            if name not in HARNESSES:
                raise CommandError(f"{name!r} is not known; it is one of {', '.join(HARNESSES)}, or {SERVICE}.")
        return [HARNESSES[name] for name in dict.fromkeys(names)]

    def unit(self, places: Places) -> Unit:
        log = settings.MEMORY.database.with_name(settings.MEMORY.database.name + ".log")
        found = unit(places, program(), platform=sys.platform, log=log)
        if found is None:
            raise CommandError(
                "Neither systemd nor launchd is known on this system; start memory-mcp at login yourself."
            )
        return found

    def show(self, changes: Iterable[Change]) -> None:
        for change in changes:
            for line in change.diff():
                self.stdout.write(line)

    def say(self, text: str) -> None:
        self.stdout.write(text)

    def complain(self, harness: Harness, error: Unreadable) -> None:
        self.stderr.write(f"{harness.title}: {error}")
