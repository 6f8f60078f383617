"""Settings files of other programs: read whole, replaced atomically, copied before the first change."""

import contextlib
import hashlib
import os
import stat
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from memsite.files import written_beside
from memsite.install.unreadable import Unreadable

LARGEST = 64 * 1024 * 1024
ANY_WRITE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


@dataclass(frozen=True)
class Document:
    """`content` is None where there is no file. `path` is what a link leads to."""

    path: Path
    content: bytes | None

    @property
    def text(self) -> str:
        """Raises Unreadable."""
        try:
            return (self.content or b"").decode("utf-8")
        except UnicodeDecodeError:
            raise Unreadable(f"{self.path} was not changed: it is not UTF-8.") from None


def read(path: Path) -> Document:
    """Raises Unreadable with one sentence."""
    real = Path(os.path.realpath(path))
    try:
        status = real.stat()
        if not stat.S_ISREG(status.st_mode):
            raise Unreadable(f"{real} is not a file.")
        if status.st_size > LARGEST:
            raise Unreadable(f"{real} was not changed: it is larger than {LARGEST >> 20} MB.")
        return Document(real, real.read_bytes())
    except FileNotFoundError:
        return Document(real, None)
    except OSError as error:
        raise Unreadable(f"{real} cannot be read: {error.strerror}.") from None


def digest(content: bytes | None) -> str:
    return "" if content is None else hashlib.sha256(content).hexdigest()


def check_writable(path: Path) -> None:
    """Raises Unreadable if a file says that it is not to be changed; renaming over it would not ask."""
    if path.exists() and not (path.stat().st_mode & ANY_WRITE and os.access(path, os.W_OK)):
        raise Unreadable(f"{path} is read-only and was not changed.")


def back_up(document: Document, *, now: datetime) -> Path:
    """A copy beside the file, with its mode."""
    assert document.content is not None
    stamp = now.strftime("%Y%m%d-%H%M%S")
    copy = document.path.with_name(f"{document.path.name}.{stamp}.memory-mcp.bak")
    _write(copy, document.content, like=document.path)
    return copy


def replace(document: Document, content: bytes | None) -> None:
    """Put `content` in the place of a document; None removes it. Raises Unreadable.

    A reader sees the old or the new file, never a part; what changed meanwhile is not overwritten.
    """
    try:
        if read(document.path).content != document.content:
            raise Unreadable(f"{document.path} was just changed by another program; run this again.")
        if content is None:
            document.path.unlink(missing_ok=True)
        else:
            document.path.parent.mkdir(parents=True, exist_ok=True)
            _write(document.path, content, like=document.path)
    except OSError as error:
        raise Unreadable(f"{document.path} cannot be written: {error.strerror}.") from None


def _write(path: Path, content: bytes, *, like: Path) -> None:
    with written_beside(path, [content]) as made:
        with contextlib.suppress(FileNotFoundError):
            status = like.stat()
            made.chmod(stat.S_IMODE(status.st_mode))
            with contextlib.suppress(PermissionError):
                os.chown(made, status.st_uid, status.st_gid)
        made.replace(path)
    _settle(path.parent)


def _settle(folder: Path) -> None:
    """The new name survives a power cut too."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
