"""Memories in pieces that one vector can stand for, cut at the ends of sentences and overlapping."""

from collections.abc import Iterator

from memories.sentences import Span, sentences

SIZE = 400
"""Characters: about a hundred tokens of English, so that one fact is not lost among many."""
OVERLAP = 100


def passages(text: str) -> list[Span]:
    """Start and end of each piece, in order; together they cover the text."""
    if len(text) <= SIZE:
        return [(0, len(text))]
    found: list[Span] = []
    pieces = list(_pieces(text))
    first = 0
    while True:
        last = first
        while last + 1 < len(pieces) and pieces[last + 1][1] - pieces[first][0] <= SIZE:
            last += 1
        found.append((pieces[first][0], pieces[last][1]))
        if last + 1 == len(pieces):
            return found
        following = last + 1
        while (
            following - 1 > first
            and pieces[last][1] - pieces[following - 1][0] <= OVERLAP
            and pieces[last + 1][1] - pieces[following - 1][0] <= SIZE
        ):
            following -= 1
        first = following


def _pieces(text: str) -> Iterator[Span]:
    """Sentences, and pieces of those that are longer than a passage."""
    for start, end in sentences(text):
        at = start
        while end - at > SIZE:
            space = text.rfind(" ", at + SIZE // 2, at + SIZE)
            cut = space + 1 if space > 0 else at + SIZE
            yield at, cut
            at = cut
        yield at, end
