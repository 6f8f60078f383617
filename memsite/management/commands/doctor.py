import dataclasses
import json
import os
import platform
import sqlite3
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from memsite.doctor import programs, serving, store, wires
from memsite.doctor.finding import Finding, fail, ok, warn
from memsite.install import kept_settings, manifest
from memsite.install.harnesses import HARNESSES, Harness
from memsite.install.manifest import Manifest
from memsite.install.places import Places
from memsite.management.install_command import installer, is_authenticated
from memsite.version import VERSION


class Command(BaseCommand):
    help = "Test what is really configured: the service, the database, and the hooks of every agent program."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, **options: Any) -> None:
        found: list[Finding] = []
        for finding in findings():
            found.append(finding)
            if not options["json"]:
                self.stdout.write(finding.line())
        failed = sum(one.level == "fail" for one in found)
        if options["json"]:
            shown = {"ok": not failed, "findings": [dataclasses.asdict(one) for one in found]}
            self.stdout.write(json.dumps(shown, indent=2))
        if failed:
            raise CommandError(f"{failed} of {len(found)} checks failed.")


def findings() -> Iterator[Finding]:
    """Everything that can be looked at, in the order in which it is best mended."""
    env = settings.MEMORY
    yield ok(f"memsite {VERSION}, Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}")
    for name in kept_settings.contradicted(os.environ, env):
        yield warn(f"config.toml sets {name} to something else than this shell", "agents and the login use the file")
    probe = serving.probe(env)
    yield from serving.findings(env, probe)
    yield from store.findings(env)
    yield from _programs(probe)


def _programs(probe: serving.Probe) -> Iterator[Finding]:
    user, here = Places.of(os.environ), Places.of(os.environ, project=Path.cwd())
    wiring = installer(user, authenticated=is_authenticated()).wiring
    if probe.state == "up":
        wiring = dataclasses.replace(wiring, mcp_url=f"{probe.url}/mcp")
    known = manifest.load(user)
    urls = known.urls | {wiring.mcp_url}
    places = [user, here] if Path.cwd() != user.home else [user]
    by_stdio = []
    for harness in HARNESSES.values():
        wired = wires.read(harness, places, wiring, urls)
        if wired:
            yield from wires.findings(harness, wired, wiring)
            yield from programs.asked(harness, user, Path.cwd())
        else:
            yield from _not_connected(harness, known, user)
        by_stdio += [harness.title] if wired.by_stdio else []
    if by_stdio and probe.state != "up":
        what = f"{', '.join(by_stdio)}: MCP by stdio without a service, so hooks capture and inject nothing"
        yield fail(what, serving.START)


def _not_connected(harness: Harness, known: Manifest, user: Places) -> Iterator[Finding]:
    again = f"memory-mcp install {harness.name}"
    if any(target.name == harness.name and not target.project for target in known.targets):
        yield fail(f"{harness.title}: was connected, and nothing of it is left", again)
    elif harness.is_present(user):
        yield ok(f"{harness.title}: is here and not connected ({again})")
