"""What changed between two versions of a text, in pieces that a template can show."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher

LONGEST = 20_000
"""Characters of either text that are compared."""
MOST_PIECES = 2_000
"""Words that are compared as words; of a longer text the lines, and of one with more lines nothing."""
_WORD = re.compile(r"\w+|\s+|[^\w\s]")


@dataclass(frozen=True)
class Piece:
    """`what` is "same", "new" or "gone"."""

    what: str
    text: str


def differences(before: str, after: str) -> list[Piece]:
    before, after = before[:LONGEST], after[:LONGEST]
    for split in (_WORD.findall, lambda text: text.splitlines(keepends=True)):
        old, new = split(before), split(after)
        if max(len(old), len(new)) <= MOST_PIECES:
            return list(_compared(old, new))
    return [Piece("gone", before), Piece("new", after)]


def _compared(old: list[str], new: list[str]) -> Iterator[Piece]:
    for what, start, end, new_start, new_end in SequenceMatcher(None, old, new).get_opcodes():
        if what == "equal":
            yield Piece("same", "".join(old[start:end]))
            continue
        if end > start:
            yield Piece("gone", "".join(old[start:end]))
        if new_end > new_start:
            yield Piece("new", "".join(new[new_start:new_end]))
