"""Where sentences end, in scripts with spaces between words and without. Standard library only."""

import re
from itertools import pairwise

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])\s*|\n\s*")
_CLAUSE_END = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；])\s*|\n\s*")

type Span = tuple[int, int]


def sentences(text: str) -> list[Span]:
    """Start and end of each sentence or line, with the white space that follows it; together they are the text."""
    return _spans(text, _SENTENCE_END)


def clauses(text: str) -> list[Span]:
    """The same, and what semicolons part: each may state something by itself."""
    return _spans(text, _CLAUSE_END)


def _spans(text: str, end: re.Pattern[str]) -> list[Span]:
    ends = (match.end() for match in end.finditer(text))
    return [(start, last) for start, last in pairwise((0, *ends, len(text))) if start < last]
