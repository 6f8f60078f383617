"""From patches to files: what would change, shown or done, and undone to the byte where nobody else wrote since."""

import contextlib
import dataclasses
import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from memsite.install import documents
from memsite.install.documents import Document
from memsite.install.manifest import Manifest, Target, Written
from memsite.install.patches import Patch
from memsite.install.unreadable import Unreadable


@dataclass(frozen=True)
class Change:
    """`after` is what a file is to hold; None = the file goes. `pristine`: nothing of ours was in it before."""

    document: Document
    after: bytes | None
    pristine: bool = False
    restores: str = ""

    @property
    def is_needed(self) -> bool:
        return self.after != self.document.content

    def diff(self) -> Iterator[str]:
        before, after = (_lines(content) for content in (self.document.content, self.after))
        name = str(self.document.path)
        old = name if self.document.content is not None else "/dev/null"
        return difflib.unified_diff(before, after, old, name if self.after is not None else "/dev/null", lineterm="")


def to_put(patch: Patch) -> Change:
    """Raises Unreadable, with the snippet to paste by hand."""
    try:
        document = documents.read(patch.path)
        text = document.text
        after = _encoded(patch.put(text))
        change = Change(document, after, pristine=patch.take(text) == text)
        if change.is_needed:
            documents.check_writable(document.path)
    except Unreadable as error:
        raise Unreadable(_by_hand(patch, str(error))) from None
    return change


def to_take(patch: Patch, manifest: Manifest) -> Change:
    """Raises Unreadable."""
    document = documents.read(patch.path)
    written = manifest.files.get(str(document.path))
    if document.content is None:
        return Change(document, None)
    if written and written.after == documents.digest(document.content):
        if written.created:
            return Change(document, None)
        original = _content(written.backup)
        if original is not None:
            return Change(document, original, restores=written.backup)
    try:
        text = patch.take(document.text)
    except Unreadable as error:
        raise Unreadable(f"{document.path} was not changed: {error}.") from None
    gone = bool(written and written.created and patch.is_empty(text))
    change = Change(document, None if gone else _encoded(text))
    if change.is_needed:
        documents.check_writable(document.path)
    return change


def make(change: Change) -> None:
    """Write what is to be put. Raises Unreadable."""
    if change.is_needed:
        documents.replace(change.document, change.after)


def recorded(change: Change, manifest: Manifest, target: Target, *, now: datetime) -> Manifest:
    """The manifest as it is once a change is made; a file is copied for it. Raises Unreadable."""
    path = change.document.path
    known = manifest.files.get(str(path))
    if not change.is_needed:
        return manifest
    written = Written(documents.digest(change.after), target.name, target.project)
    if known and known.after == documents.digest(change.document.content):
        written = dataclasses.replace(known, after=written.after, target=target.name, project=target.project)
    elif change.document.content is None:
        folders = tuple(str(folder) for folder in reversed(path.parents) if not folder.exists())
        written = dataclasses.replace(written, created=True, folders=folders)
    else:
        copy = _backed_up(change.document, now=now)
        written = dataclasses.replace(written, backup=str(copy) if change.pristine else "")
    return manifest.with_file(path, written)


def unmake(change: Change, manifest: Manifest) -> Manifest:
    """Write what is left when ours is taken out. Raises Unreadable."""
    if change.is_needed:
        documents.replace(change.document, change.after)
    if change.restores:
        Path(change.restores).unlink(missing_ok=True)
    written = manifest.files.get(str(change.document.path))
    if written and change.after is None:
        for folder in reversed(written.folders):
            with contextlib.suppress(OSError):  # others have put something into it
                Path(folder).rmdir()
    return manifest.with_file(change.document.path, None)


def _backed_up(document: Document, *, now: datetime) -> Path:
    try:
        return documents.back_up(document, now=now)
    except OSError as error:
        raise Unreadable(
            f"{document.path} was not changed: no copy can be made beside it ({error.strerror})."
        ) from None


def _content(path: str) -> bytes | None:
    try:
        return Path(path).read_bytes() if path else None
    except OSError:
        return None


def _encoded(text: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        raise Unreadable("a path of this installation is not UTF-8") from None


def _by_hand(patch: Patch, reason: str) -> str:
    sentence = reason if reason.endswith(".") else f"{patch.path} was not changed: {reason}."
    return f"{sentence} To connect it by hand, put this into it:\n{patch.snippet()}"


def _lines(content: bytes | None) -> list[str]:
    return (content or b"").decode("utf-8", "backslashreplace").splitlines()
