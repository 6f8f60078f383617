"""The archive that a purge appends to: on the disk before anything is removed."""

import contextlib
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from memories.errors import Rejected, StoreUnavailable
from memories.lifecycle import Archive
from memories.models import Memory
from memories.transfer import archive

_NO_LINK = getattr(os, "O_NOFOLLOW", 0)


@contextlib.contextmanager
def appending(path: Path) -> Iterator[Archive]:
    """A function that appends memories by their ids. Raises Rejected for a file that is no archive."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | _NO_LINK, 0o600)
    except OSError as error:
        raise Rejected(f"{path} cannot be written: {error.strerror}; nothing was removed.") from None
    try:
        _check(handle, path)
        yield lambda ids: _append(handle, path, ids)
    finally:
        os.close(handle)


def _check(handle: int, path: Path) -> None:
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        raise Rejected(f"{path} is not a file; nothing was removed.")
    header = archive.header(archive.EXPIRED).encode()
    size = os.fstat(handle).st_size
    if size and os.pread(handle, len(header), 0) != header:
        raise Rejected(f"{path} is no archive of expired memories; nothing was removed.")


def _append(handle: int, path: Path, ids: Sequence[int]) -> None:
    before = os.fstat(handle).st_size
    memories = Memory.objects.filter(pk__in=ids).select_related("superseded_by").order_by("pk")
    try:
        if not before:
            _write(handle, archive.header(archive.EXPIRED))
        elif os.pread(handle, 1, before - 1) != b"\n":  # a write that was cut off
            _write(handle, "\n")
        for memory in memories.iterator(50):
            newer = memory.superseded_by
            _write(handle, archive.memory_line(memory, successor=newer.uid if newer else ""))
        os.fsync(handle)
        if not before:
            _sync_folder(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.ftruncate(handle, before)
        raise StoreUnavailable(f"{path} cannot be written: {error.strerror}; the purge stopped there.") from error


def _write(handle: int, text: str) -> None:
    data = memoryview(text.encode())
    while data:
        data = data[os.write(handle, data) :]


def _sync_folder(folder: Path) -> None:
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
