"""Where an import reads from: a file, a folder, what a pipe or a browser sent. Nothing is ever written to it."""

import io
import json
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from memories.conf import config
from memories.errors import Rejected
from memories.transfer.report import Flaw

WHOLE = 256 * 2**20
"""Most bytes of what must be in memory as a whole: a document, or what comes through a pipe."""
_ESCAPED = 12
"""Bytes of a character in JSON at most: two escapes of six."""


@dataclass(frozen=True)
class Source:
    """`file` can be read again from its start; None for a folder. `path` is None for what has no place on the disk."""

    name: str
    file: BinaryIO | None
    path: Path | None = None

    def beginning(self, size: int = 1 << 16) -> bytes:
        file = self._rewound()
        return file.read(size)

    def whole(self) -> bytes:
        content = self._rewound().read(WHOLE + 1)
        if len(content) > WHOLE:
            raise Rejected(f"{self.name} has more than {WHOLE // 2**20} MB, which is too much for one document.")
        return content

    def text(self) -> str:
        try:
            return self.whole().decode("utf-8-sig")
        except UnicodeDecodeError:
            raise Rejected(f"{self.name} is not UTF-8.") from None

    def lines(self) -> Iterator[tuple[str, Any]]:
        """Each line that is not empty, with its place: what its JSON means, or what is wrong with it."""
        file, longest = self._rewound(), config().max_content_chars * _ESCAPED + 2**20
        number = 0
        while line := file.readline(longest):
            number += 1
            place = f"line {number}"
            if len(line) == longest and not line.endswith(b"\n"):
                while (rest := file.readline(longest)) and not rest.endswith(b"\n"):
                    pass
                yield place, Flaw(place, f"It has more than {longest} bytes.")
            elif line.strip():
                yield place, _parsed(line, place)

    def _rewound(self) -> BinaryIO:
        if self.file is None:
            raise Rejected(f"{self.name} is a folder; of folders only Markdown is read.")
        self.file.seek(0)
        return self.file


def of_stream(stream: BinaryIO, *, name: str) -> Source:
    """What a pipe delivers, to its end."""
    content = stream.read(WHOLE + 1)
    if len(content) > WHOLE:
        raise Rejected(f"More than {WHOLE // 2**20} MB came from {name}; save it to a file and import that.")
    return Source(name, io.BytesIO(content))


def of_path(path: Path) -> Source:
    """A file, a folder or a pipe that has a name. Close `file` when done."""
    try:
        if path.is_dir():
            return Source(str(path), None, path)
        file = path.open("rb")
        if stat.S_ISREG(path.stat().st_mode):
            return Source(str(path), file, path)
        with file:
            return of_stream(file, name=str(path))
    except OSError as error:
        raise Rejected(f"{path} cannot be read: {error.strerror}.") from None


def document(text: str, *, name: str) -> Any:
    """What a JSON document means. Raises Rejected."""
    try:
        return json.loads(text)
    except RecursionError:
        raise Rejected(f"{name} is nested too deeply.") from None
    except ValueError as error:
        raise Rejected(f"{name} is not JSON: {str(error)[:100]}.") from None


def _parsed(line: bytes, place: str) -> Any:
    try:
        value = document(line.decode("utf-8-sig"), name="It")
    except UnicodeDecodeError:
        return Flaw(place, "It is not UTF-8.")
    except Rejected as error:
        return Flaw(place, str(error))
    return value if isinstance(value, dict) else Flaw(place, "It is not an object.")
