from typing import Any

from django.core.management.base import CommandError

from memsite.install import manifest, service
from memsite.install.harnesses import HARNESSES, Harness
from memsite.install.installer import Installer, connected
from memsite.install.places import Places
from memsite.install.unreadable import Unreadable
from memsite.management.install_command import SERVICE, InstallCommand, installer


class Command(InstallCommand):
    help = "Take out what install put into the settings of agent programs, and nothing else. Memories stay."

    def handle(self, *, targets: list[str], dry_run: bool, project: bool, **options: Any) -> None:
        places = self.places(project=project)
        wanted = [(harness, places) for harness in self.named(targets)]
        if options["all"]:
            wanted = self._everything(places)
        if not wanted and SERVICE not in targets and not options["all"]:
            raise CommandError("Name the programs to part from the memory, or --all.")
        failed = [one.title for one, where in wanted if not self._part(one, installer(where), dry_run=dry_run)]
        at_login = any(one.name == SERVICE for one in manifest.load(places).targets)
        if SERVICE in targets or (options["all"] and at_login and not project):
            self._remove_service(installer(places), dry_run=dry_run)
        if failed:
            raise CommandError(f"Still connected: {', '.join(failed)}.")

    def _everything(self, places: Places) -> list[tuple[Harness, Places]]:
        """Every program here, and without --project every project that was connected too."""
        here = [(harness, places) for harness in HARNESSES.values()]
        if places.project:
            return here
        return here + [(one, Places(places.environ, places.home, where)) for one, where in connected(places) if where]

    def _part(self, harness: Harness, wires: Installer, *, dry_run: bool) -> bool:
        try:
            changes = wires.to_part(harness)
            if dry_run:
                self.show(changes)
                return True
            wires.part(harness.name, changes)
        except Unreadable as error:
            self.complain(harness, error)
            return False
        for change in changes:
            if change.is_needed:
                self.say(f"{harness.title}: {'removed' if change.after is None else 'cleaned'} {change.document.path}")
        return True

    def _remove_service(self, wires: Installer, *, dry_run: bool) -> None:
        unit = self.unit(wires.places)
        try:
            change = wires.to_stop_at_login(unit)
            if dry_run:
                self.show([change])
                return
            if not change.is_needed:
                return
            trouble = service.run(unit.disable)
            wires.part(SERVICE, [change])
        except Unreadable as error:
            raise CommandError(str(error)) from None
        self.say(f"Service: removed {unit.path}{f' ({trouble})' if trouble else ''}")
