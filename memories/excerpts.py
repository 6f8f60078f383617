"""The part of a long memory that answers a query."""

import re
from collections.abc import Iterator, Sequence

LONG = 1000
"""Characters above which a memory is shown by its best passage."""
PASSAGE = 500
_SENTENCE = re.compile(r"[^\n.!?。！？]+[.!?。！？]*\s*|[.!?。！？]+\s*|\n+")


def excerpt(content: str, words: Sequence[str], *, near: tuple[int, int] | None = None) -> str:
    """The whole text if it is short, else about 500 characters of it: `near`, or where most of the words occur."""
    if len(content) <= LONG:
        return content
    if near is not None:
        return _marked(content, *near)
    best = max(_passages(content), key=lambda span: (_found(content[span[0] : span[1]], words), -span[0]))
    return _marked(content, *best)


def _passages(content: str) -> Iterator[tuple[int, int]]:
    """Overlapping spans that begin at the border of a sentence."""
    starts = [match.start() for match in _SENTENCE.finditer(content)]
    last = -PASSAGE
    for start in starts or [0]:
        if start - last >= PASSAGE // 2:
            yield from _pieces(content, start)
            last = start
    yield max(0, len(content) - PASSAGE), len(content)


def _pieces(content: str, start: int) -> Iterator[tuple[int, int]]:
    """The span from `start`, and further ones where no sentence ends for long."""
    yield start, min(start + PASSAGE, len(content))
    at = start + PASSAGE // 2
    while at < len(content) and not re.search(r"[\n.!?。！？]", content[at - PASSAGE // 2 : at]):
        yield at, min(at + PASSAGE, len(content))
        at += PASSAGE // 2


def _found(passage: str, words: Sequence[str]) -> int:
    folded = passage.casefold()
    return sum(word in folded for word in words)


def _marked(content: str, start: int, end: int) -> str:
    text = content[start:end].strip()
    return ("… " if start else "") + text + (" …" if end < len(content) else "")
