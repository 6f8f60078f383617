"""The part of a long memory that answers a query."""

from collections.abc import Iterator, Sequence

from memories.sentences import Span, sentences

LONG = 1000
"""Characters above which a memory is shown by its best passage."""
PASSAGE = 500


def excerpt(content: str, words: Sequence[str], *, near: tuple[int, int] | None = None) -> str:
    """The whole text if it is short, else about 500 characters of it: `near`, or where most of the words occur."""
    if len(content) <= LONG:
        return content
    if near is not None:
        return _marked(content, *near)
    best = max(_passages(content), key=lambda span: (_found(content[span[0] : span[1]], words), -span[0]))
    return _marked(content, *best)


def _passages(content: str) -> Iterator[Span]:
    """Overlapping spans that begin where a sentence does, and within one that is long."""
    last = -PASSAGE
    for start, end in sentences(content):
        if start - last >= PASSAGE // 2:
            for at in range(start, max(end - PASSAGE // 2, start + 1), PASSAGE // 2):
                yield at, min(at + PASSAGE, len(content))
            last = start
    yield max(0, len(content) - PASSAGE), len(content)


def _found(passage: str, words: Sequence[str]) -> int:
    folded = passage.casefold()
    return sum(word in folded for word in words)


def _marked(content: str, start: int, end: int) -> str:
    text = content[start:end].strip()
    return ("… " if start else "") + text + (" …" if end < len(content) else "")
