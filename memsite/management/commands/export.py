import os
import sys
from argparse import ArgumentParser
from collections.abc import Generator, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from memories.transfer import exporting
from memories.transfer.exporting import Extent
from memsite.files import written_beside
from memsite.management.store_command import StoreCommand

STEP = 500


class Command(StoreCommand):
    help = "Write all memories to a file, with their history, conflicts and tags: JSON lines that `import` reads."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", nargs="?", default="-", help="default: - (standard output)")
        parser.add_argument("--scope", default="", help="only this scope")
        parser.add_argument("--project", help='only this project; "" for memories that belong to none')
        parser.add_argument("--format", choices=exporting.FORMATS, default="jsonl", help="csv is for people")
        parser.add_argument("--force", action="store_true", help="replace the file if it exists")

    def handle(self, *, file: str, force: bool, **options: Any) -> None:
        extent = Extent(scope=options["scope"], project=options["project"])
        with closing(self._lines(extent, options["format"])) as lines:
            if file == "-":
                for line in lines:
                    self.stdout.write(line, ending="")
                return
            path = Path(file).expanduser().absolute()
            try:
                _save(lines, path, force=force)
            except OSError as error:
                raise CommandError(f"{path} cannot be written: {error.strerror}.") from error
        self.stderr.write(f"Saved {path}.")

    def _lines(self, extent: Extent, format: str) -> Generator[str]:  # noqa: A002 - as the option is called
        total = exporting.count(extent) if sys.stderr.isatty() else 0
        with closing(exporting.export(extent, format=format)) as lines:
            for done, line in enumerate(lines):
                yield line
                if total and done <= total and (done % STEP == 0 or done == total):
                    self.progress(done, total)


def _save(lines: Iterator[str], path: Path, *, force: bool) -> None:
    """A whole file for its owner alone, or none."""
    if os.path.lexists(path) and not force:
        raise CommandError(f"{path} exists already; --force replaces it.")
    with written_beside(path, (line.encode() for line in lines)) as made:
        _put(made, path, force=force)


def _put(made: Path, path: Path, *, force: bool) -> None:
    if not force:
        with suppress(PermissionError, NotImplementedError):  # not every file system has links
            os.link(made, path)  # refuses, unlike a renaming, what has come meanwhile
            return
        if os.path.lexists(path):
            raise CommandError(f"{path} exists already; --force replaces it.")
    made.replace(path)
