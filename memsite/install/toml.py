"""TOML edited by whole tables: what is added stands at the end, and nothing else is rewritten."""

import re
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from memsite.install.unreadable import Unreadable

NOTE = "# Kept by `memory-mcp install`; `memory-mcp uninstall` removes it."
UNSEEN = re.compile(
    r'#[^\n]*|"""(?:\\.|[^\\])*?"""|\'\'\'.*?\'\'\'|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'',
    re.DOTALL,
)
"""Comments and strings: what stands in them is no structure."""


@dataclass(frozen=True)
class Table:
    """`[name]` or an element of `[[name]]`, from `start` (with our note above it) to the end of its last line."""

    name: tuple[str, ...]
    value: dict[str, Any]
    start: int
    end: int


def loads(text: str) -> dict[str, Any]:
    """Raises Unreadable."""
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError as error:
        raise Unreadable(f"it is not valid TOML: {error}") from None


def tables(text: str) -> list[Table]:
    """The tables that have a header of their own, in order. Raises Unreadable."""
    loads(text)
    masked = UNSEEN.sub(lambda found: re.sub(r"[^\n]", " " if found[0].startswith("#") else "x", found[0]), text)
    starts = [*_headers(masked), len(text)]
    return [_table(text, masked, start, end) for start, end in pairwise(starts)]


def add(text: str, block: str) -> str:
    """Append tables. Raises Unreadable if the result would not be valid."""
    newline = "\r\n" if "\r\n" in text else "\n"
    parts = [text, "" if not text or text.endswith("\n") else newline, newline if text.strip() else ""]
    return _checked("".join(parts) + _noted(block, newline))


def replace(text: str, table: Table, block: str) -> str:
    """Put other lines in the place of a table."""
    newline = "\r\n" if "\r\n" in text else "\n"
    return _checked(text[: table.start] + _noted(block, newline) + text[table.end :])


def remove(text: str, wanted: Callable[[Table], bool]) -> str:
    """Take out every table that is wanted, and the blank line before it."""
    for table in reversed(tables(text)):
        if wanted(table):
            before, after = text[: table.start], text[table.end :]
            if not after.strip() or after.startswith(("\n", "\r\n")):
                before = re.sub(r"(^|\n)\r?\n\Z", r"\1", before)
            text = before + after
    return _checked(text)


def _noted(block: str, newline: str) -> str:
    return newline.join([NOTE, *block.strip("\n").split("\n"), ""])


def _checked(text: str) -> str:
    try:
        loads(text)
    except Unreadable:
        raise Unreadable("it holds the same setting in another form of TOML") from None
    return text


def _headers(masked: str) -> Iterator[int]:
    """Where the lines of headers begin: outside of every bracket."""
    depth = position = 0
    for line in masked.splitlines(keepends=True):
        if depth == 0 and line.lstrip(" \t\ufeff").startswith("["):
            yield position
        else:
            depth += sum(line.count(one) for one in "[{") - sum(line.count(one) for one in "]}")
        position += len(line)


def _table(text: str, masked: str, start: int, end: int) -> Table:
    last = start + len(masked[start:end].rstrip())
    line_end = text.find("\n", last)
    stop = len(text) if line_end < 0 else line_end + 1
    name: list[str] = []
    value: Any = tomllib.loads(text[start:stop].removeprefix("\ufeff"))
    depth = _depth(text, start, last)
    for _ in range(depth):
        (key,) = value
        name.append(key)
        value = value[key][0] if isinstance(value[key], list) else value[key]
    above = text.rfind("\n", 0, max(start - 1, 0)) + 1
    if start and text[above:start].strip() == NOTE:
        start = above
    return Table(tuple(name), value, start, stop)


def _depth(text: str, start: int, last: int) -> int:
    """How many keys a header names."""
    value: Any = tomllib.loads(text[start:last].removeprefix("\ufeff").split("\n")[0].strip())
    depth = 0
    while value:
        ((_, value),) = value.items()
        value = value[0] if isinstance(value, list) else value
        depth += 1
    return depth
