# ruff: noqa: N999 - the name of a command
import sys
from argparse import ArgumentParser
from collections import Counter
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from memories.transfer import importing, source
from memories.transfer.importing import Target
from memories.transfer.report import MEANINGS, STATUSES, Flaw, Report
from memories.transfer.source import Source
from memsite.management.store_command import StoreCommand

STEP = 100


class Command(StoreCommand):
    help = (
        "Bring memories in: an export, or what another program keeps. What is bad is reported and passed over (exit"
        " code 1); repeating it changes nothing."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", help="a file, a folder of Markdown notes, or - (standard input)")
        parser.add_argument("--format", choices=importing.FORMATS, default="auto")
        parser.add_argument("--scope", default="", help="where it goes, whatever the file says")
        parser.add_argument("--project", help='the same; "" for what holds everywhere')
        parser.add_argument("--dry-run", action="store_true", help="only say what would be imported")

    def handle(self, *, file: str, format: str, dry_run: bool, **options: Any) -> None:  # noqa: A002
        target = Target(actor=self.actor(), scope=options["scope"], project=options["project"], dry_run=dry_run)
        given = _open(file)
        try:
            report = importing.bring_in(given, target, format=format, on_flaw=self._tell, on_entry=self._count)
        finally:
            if given.file:
                given.file.close()
        self._sum_up(report)
        if report.bad:
            raise CommandError(f"{report.bad:,} of {report.total:,} entries are bad and were passed over.")

    def _tell(self, flaw: Flaw) -> None:
        self.stderr.write(str(flaw))

    def _count(self, done: int) -> None:
        if done % STEP == 0 and self.stderr.isatty():
            self.stderr.write(f"\r{done:,}", ending="")

    def _sum_up(self, report: Report) -> None:
        for remark in report.remarks:
            self.say(remark)
        begin = f"{report.format}, dry run, nothing was written" if report.dry_run else report.format
        self.say(f"{begin}: {_counted(report.counts) or 'no memories'}.")
        if report.conflicts:
            self.say(f"Conflicts: {_counted(report.conflicts)}.")
        if report.redacted:
            self.say(f"Redacted: {', '.join(f'{count} {name}' for name, count in sorted(report.redacted.items()))}.")


def _open(file: str) -> Source:
    if file == "-":
        return source.of_stream(sys.stdin.buffer, name="standard input")
    return source.of_path(Path(file).expanduser().absolute())


def _counted(counts: Counter[str]) -> str:
    return ", ".join(f"{counts[name]:,} {MEANINGS.get(name, name)}" for name in STATUSES if counts[name])
