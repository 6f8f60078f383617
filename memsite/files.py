"""Private files beside the database: created 0600, replaced atomically; folders that we make are 0700."""

import contextlib
import os
import secrets
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from memsite.env import beside


def make_private_folder(path: Path) -> None:
    """Create a folder and its parents for the owner alone; existing ones are left as they are."""
    if not path.is_dir():
        make_private_folder(path.parent)
        path.mkdir(mode=0o700, exist_ok=True)


def write_private(path: Path, text: str) -> None:
    """Replace a file by one that only its owner may read; a reader sees the old or the new text, never a part."""
    make_private_folder(path.parent)
    with written_beside(path, [text.encode()]) as made:
        made.replace(path)


def create_private(path: Path, content: bytes = b"") -> None:
    """Create a file for its owner alone unless it exists; of several writers the first one wins."""
    make_private_folder(path.parent)
    with written_beside(path, [content]) as made, contextlib.suppress(FileExistsError):
        os.link(made, path)


@contextlib.contextmanager
def written_beside(path: Path, content: Iterable[bytes]) -> Iterator[Path]:
    """A private file in the same folder, whole and on the disk, to be renamed to `path`; it goes if it is not."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.writelines(content)
            file.flush()
            os.fsync(file.fileno())
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)


def signing_key(database: Path) -> str:
    """The key that signs sessions and login links: made once, kept beside the database."""
    path = beside(database, ".key")
    if not path.exists():
        create_private(path, secrets.token_urlsafe(64).encode())
    return path.read_text(encoding="ascii").strip()
