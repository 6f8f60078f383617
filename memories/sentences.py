"""Where sentences end, in scripts with spaces between words and without. Standard library only."""

import re
from itertools import pairwise

_END = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；])\s*|\n\s*")

type Span = tuple[int, int]


def spans(text: str) -> list[Span]:
    """Start and end of each sentence or line, with the white space that follows it; together they are the text."""
    ends = (match.end() for match in _END.finditer(text))
    return [(start, end) for start, end in pairwise((0, *ends, len(text))) if start < end]


def sentences(text: str) -> list[str]:
    """The sentences and lines of a text, without white space around them."""
    return [sentence for start, end in spans(text) if (sentence := text[start:end].strip())]
