"""What was installed where, so that it can be taken out exactly; kept for the owner, with no content of any file."""

import dataclasses
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from filelock import FileLock, Timeout

from memsite.files import make_private_folder, write_private
from memsite.install.places import Places
from memsite.install.unreadable import Unreadable

VERSION = 1
PATIENCE_SECONDS = 20.0


@dataclass(frozen=True)
class Written:
    """A file as we left it, for the last program that asked for it (and its project, see Target).

    `backup` is what it was before, if nothing of ours was in it then. `folders` were made for it, the outermost first.
    """

    after: str
    target: str
    project: str = ""
    created: bool = False
    backup: str = ""
    folders: tuple[str, ...] = ()


@dataclass(frozen=True)
class Target:
    """A program that was connected; `project` is "" for the user's own settings."""

    name: str
    project: str = ""
    stdio: bool = False


@dataclass(frozen=True)
class Manifest:
    files: dict[str, Written] = field(default_factory=dict)
    targets: tuple[Target, ...] = ()
    urls: frozenset[str] = frozenset()

    def with_file(self, path: Path, written: Written | None) -> "Manifest":
        files = {name: one for name, one in self.files.items() if name != str(path)}
        return dataclasses.replace(self, files=files | ({str(path): written} if written else {}))

    def with_target(self, target: Target, *, url: str) -> "Manifest":
        kept = self.without_target(target)
        return dataclasses.replace(kept, targets=(*kept.targets, target), urls=self.urls | {url})

    def without_target(self, target: Target) -> "Manifest":
        kept = (one for one in self.targets if (one.name, one.project) != (target.name, target.project))
        return dataclasses.replace(self, targets=tuple(kept))


def location(places: Places) -> Path:
    return places.data() / "install.json"


@contextmanager
def held(places: Places) -> Iterator[None]:
    """For one process at a time, so that of two at once neither loses what the other wrote. Raises Unreadable."""
    path = location(places)
    try:
        make_private_folder(path.parent)
        with FileLock(path.with_suffix(".lock"), timeout=PATIENCE_SECONDS, mode=0o600):
            yield
    except Timeout:
        raise Unreadable("Another install or uninstall is at work; run this again when it has ended.") from None
    except OSError as error:
        raise Unreadable(f"{error.filename or path} cannot be written: {error.strerror}.") from None


def load(places: Places) -> Manifest:
    """An empty one if it is missing or damaged: what is ours is recognised without it too."""
    try:
        found = json.loads(location(places).read_text(encoding="utf-8"))
        return Manifest(
            {name: Written(**one) for name, one in found["files"].items()},
            tuple(Target(**one) for one in found["targets"]),
            frozenset(found["urls"]),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return Manifest()


def save(manifest: Manifest, places: Places) -> None:
    path = location(places)
    if not manifest.files and not manifest.targets:
        path.unlink(missing_ok=True)
        return
    write_private(path, json.dumps({"version": VERSION, **_plain(manifest)}, indent=2) + "\n")


def _plain(manifest: Manifest) -> dict[str, object]:
    return {
        "files": {name: dataclasses.asdict(one) for name, one in manifest.files.items()},
        "targets": [dataclasses.asdict(one) for one in manifest.targets],
        "urls": sorted(manifest.urls),
    }
