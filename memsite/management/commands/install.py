import os
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError

from memsite import discovery
from memsite.guard import local_url
from memsite.install import kept_settings, service
from memsite.install.harnesses import Harness
from memsite.install.installer import Installer, present
from memsite.install.unreadable import Unreadable
from memsite.management.install_command import SERVICE, InstallCommand, installer, is_authenticated

EPHEMERAL = "archive-v0"
"""Where uv keeps the environments of `uvx`, until it tidies up."""


class Command(InstallCommand):
    help = "Connect agent programs with the memory, or start the service at login."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        way = parser.add_mutually_exclusive_group()
        way.add_argument("--http", action="store_true", help="MCP by HTTP (default)")
        way.add_argument("--stdio", action="store_true", help="MCP by a process that the program starts")

    def handle(self, *, targets: list[str], dry_run: bool, project: bool, stdio: bool, **options: Any) -> None:
        places = self.places(project=project)
        wanted = list(present(places)) if options["all"] else self.named(targets)
        if not wanted and SERVICE not in targets:
            raise CommandError(
                "Name the programs to connect, or --all for those that are in use here (none was found)."
            )
        if not stdio and settings.MEMORY.port == 0:
            self.say("MEMORY_PORT=0 is another port at every start, so MCP is set up by --stdio.")
            stdio = True
        wires = installer(places, stdio=stdio, authenticated=is_authenticated())
        if EPHEMERAL in Path(sys.executable).parts:
            self.say(f"{sys.executable} is temporary; `uv tool install memsite` first, or hooks break when it goes.")
        if not project:
            self._keep_settings(dry_run=dry_run)
        failed = [one.title for one in wanted if not self._connect(one, wires, dry_run=dry_run)]
        if SERVICE in targets:
            self._install_service(wires, dry_run=dry_run)
        if not dry_run:
            self._say_what_is_next(wires, [one for one in wanted if one.title not in failed], targets)
        if failed:
            raise CommandError(f"Not connected: {', '.join(failed)}.")

    def _connect(self, harness: Harness, wires: Installer, *, dry_run: bool) -> bool:
        try:
            changes = wires.to_connect(harness)
            if not changes:
                self.say(f"{harness.title}: a project has no settings for it; leave --project out.")
                return True
            if dry_run:
                self.show(changes)
                return True
            wires.connect(harness.name, changes)
        except Unreadable as error:
            self.complain(harness, error)
            return False
        for change in changes:
            self.say(f"{harness.title}: {'changed' if change.is_needed else 'is right:'} {change.document.path}")
        return True

    def _keep_settings(self, *, dry_run: bool) -> None:
        """What only this shell sets is written where every process reads it."""
        unsaved = kept_settings.unsaved(os.environ, settings.MEMORY)
        names = ", ".join(unsaved)
        if unsaved and not dry_run:
            try:
                file = kept_settings.save(os.environ, unsaved)
            except OSError as error:
                raise CommandError(f"config.toml cannot be written: {error.strerror}; nothing was changed.") from None
            self.say(f"Kept in {file}, as agents do not see this shell: {names}.")
        elif unsaved:
            self.say(f"Would keep in config.toml: {names}.")
        for name in kept_settings.contradicted(os.environ, settings.MEMORY):
            self.say(f"config.toml sets {name} to something else than this shell; agents and the login use the file.")

    def _install_service(self, wires: Installer, *, dry_run: bool) -> None:
        unit = self.unit(wires.places)
        try:
            change = wires.to_start_at_login(unit)
            if dry_run:
                self.show([change])
                return
            wires.connect(SERVICE, [change])
        except Unreadable as error:
            raise CommandError(str(error)) from None
        self.say(f"Service: {'changed' if change.is_needed else 'is right:'} {unit.path}")
        trouble = service.run(unit.enable)
        if not trouble:
            trouble = service.run(unit.restart if is_up() else unit.start)
        if trouble:
            self.say(f"It was not started ({trouble}); start memory-mcp yourself where there is no such system.")
        if settings.MEMORY.token and os.environ.get("MEMORY_TOKEN"):
            self.say("MEMORY_TOKEN is set in this shell only: put `token` into config.toml, or the service has none.")

    def _say_what_is_next(self, wires: Installer, connected: list[Harness], targets: list[str]) -> None:
        for harness in connected:
            self.say(f"Next: {harness.next_step}.")
        if wires.places.project and connected:
            self.say("These files hold paths of this machine: better not commit them.")
        if wires.wiring.authenticated and not wires.wiring.stdio and connected:
            self.say("Next: export MEMORY_TOKEN where you start these programs; no file holds it.")
        if connected and SERVICE not in targets and not is_up():
            if wires.wiring.stdio:
                self.say("With --stdio alone hooks capture and inject nothing: they need the service.")
            self.say("Next: `memory-mcp install service` starts the service at login; `memory-mcp` starts it now.")


def is_up() -> bool:
    running = discovery.read(settings.MEMORY.discovery)
    url = running.url if running else local_url(settings.MEMORY.host, settings.MEMORY.port)
    return discovery.health(url) is not None
