"""Connecting agent programs with the memory and parting them again, one program at a time."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from memsite.install import changes, manifest
from memsite.install.changes import Change
from memsite.install.documents import read
from memsite.install.harnesses import HARNESSES, Harness
from memsite.install.manifest import Manifest, Target
from memsite.install.patches import Patch
from memsite.install.places import Places
from memsite.install.service import Unit
from memsite.install.wiring import Wiring


@dataclass(frozen=True)
class Installer:
    """Where to write, what to write, and when it is."""

    places: Places
    wiring: Wiring
    now: datetime

    @property
    def project(self) -> str:
        return str(self.places.project or "")

    def urls(self, known: Manifest) -> frozenset[str]:
        return known.urls | {self.wiring.mcp_url}

    def to_connect(self, harness: Harness) -> list[Change]:
        """Raises Unreadable before anything is written."""
        patches = harness.patches(self.places, self.wiring, self.urls(manifest.load(self.places)))
        return [changes.to_put(patch) for patch in patches]

    def connect(self, name: str, wanted: Iterable[Change]) -> None:
        """Raises Unreadable."""
        target = Target(name, self.project, self.wiring.stdio)
        with manifest.held(self.places):
            for change in wanted:
                self._make(change, target)
            manifest.save(manifest.load(self.places).with_target(target, url=self.wiring.mcp_url), self.places)

    def _make(self, change: Change, target: Target) -> None:
        """On record before it is done: what is killed in between can be taken out to the byte."""
        before = manifest.load(self.places)
        manifest.save(changes.recorded(change, before, target, now=self.now), self.places)
        try:
            changes.make(change)
        except BaseException:
            manifest.save(before, self.places)
            raise

    def to_start_at_login(self, unit: Unit) -> Change:
        """Raises Unreadable."""
        document = read(unit.path)
        return Change(document, unit.text.encode(), pristine=True)

    def to_stop_at_login(self, unit: Unit) -> Change:
        """Raises Unreadable."""
        return Change(read(unit.path), None)

    def to_part(self, harness: Harness) -> list[Change]:
        """Raises Unreadable before anything is written."""
        known = manifest.load(self.places)
        patches = harness.patches(self.places, self.wiring, self.urls(known))
        patches += self._elsewhere(harness, patches, known)
        return [changes.to_take(patch, known) for patch in reversed(patches)]  # folders go after what is in them

    def _elsewhere(self, harness: Harness, patches: list[Patch], known: Manifest) -> list[Patch]:
        """For files that were written while a variable named another folder."""
        here = {os.path.realpath(patch.path) for patch in patches}
        mine = (name for name, one in known.files.items() if (one.target, one.project) == (harness.name, self.project))
        return [_at(Path(name), patches) for name in mine if name not in here]

    def part(self, name: str, wanted: Iterable[Change]) -> None:
        """Raises Unreadable."""
        wanted = list(wanted)
        if manifest.load(self.places) == Manifest() and not any(change.is_needed for change in wanted):
            return
        with manifest.held(self.places):
            known = manifest.load(self.places)
            try:
                for change in wanted:
                    known = changes.unmake(change, known)
                known = known.without_target(Target(name, self.project))
            finally:
                manifest.save(known, self.places)


def _at(path: Path, patches: list[Patch]) -> Patch:
    """The patch of a file, at another path."""
    return next((one for one in patches if one.path.name == path.name), patches[0]).moved_to(path)


def present(places: Places) -> Iterator[Harness]:
    """The programs that this user has."""
    return (harness for harness in HARNESSES.values() if harness.is_present(places))


def connected(places: Places) -> Iterator[tuple[Harness, Path | None]]:
    """What the manifest names, with the folder of its project."""
    for target in manifest.load(places).targets:
        if target.name in HARNESSES:
            yield HARNESSES[target.name], Path(target.project) if target.project else None
