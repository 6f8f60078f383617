"""One text out of several without a model: their distinct sentences in order. And what a model's text has lost."""

import re
from collections.abc import Iterable, Sequence

from memories.cleaning import normalised
from memories.search.terms import content_words, query_terms
from memories.sentences import clauses

LEAST_WORDS = 3
"""Of a sentence that may be left out because another text has it; a shorter one says too little by itself."""
_LAID_OUT = re.compile(r"```|~~~|^(?: {2,}|\t)\S", re.MULTILINE)
"""Code, tables and nested lists, of which no line may be missing."""
_REFERS = re.compile(
    r"\W*(?:it|its|this|that|these|those|they|their|he|she|there|here|then|so|but|and|or|otherwise|instead|both|same"
    r"|er|sie|es|das|dies\w*|dort|aber|il|elle|ils|cela|esto|eso|esta?|pero|это|он|она|они|那|这|它|其|それ|これ)\b",
    re.IGNORECASE,
)
"""How a sentence begins that means nothing without the one before it."""
_NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")
_CODE_SPAN = re.compile(r"`([^`\n]+)`")
_NAME = re.compile(r"\b(?:\w*[a-z]\w*[A-Z]\w*|\w*_\w+|[A-Z][A-Z0-9]+)\b")

type Words = tuple[str, ...]


def statements(text: str) -> list[str]:
    """The text in pieces that give it again when they are put together; laid-out text is one piece."""
    return [text] if _LAID_OUT.search(text) else [text[start:end] for start, end in clauses(text)]


def joined(texts: Iterable[str]) -> str:
    """The distinct sentences of the texts in their order.

    A text, or a sentence of one, is left out only if its content words are the same sequence as those of one before it.
    """
    seen: set[object] = set()
    told: set[Words] = set()
    kept = []
    for text in texts:
        whole = _whole(text)
        if whole in seen:
            continue
        seen.add(whole)
        pieces = statements(text)
        kept.append("".join(piece for piece in pieces if not _is_told(piece, told)).strip())
        told |= {content_words(piece) for piece in pieces if len(pieces) > 1 or not _LAID_OUT.search(text)}
    return "\n".join(text for text in kept if text)


def _whole(text: str) -> object:
    words = content_words(text)
    return normalised(text) if _LAID_OUT.search(text) or not words else words


def _is_told(piece: str, told: set[Words]) -> bool:
    words = content_words(piece)
    return len(words) >= LEAST_WORDS and words in told and not (_LAID_OUT.search(piece) or _REFERS.match(piece))


def lost(summary: str, texts: Sequence[str]) -> set[str]:
    """What of the numbers, identifiers, paths and code spans of the texts a summary does not have."""
    known = _anchors(summary)
    lowered = summary.lower()
    spans = {span for text in texts for span in _CODE_SPAN.findall(text) if span.lower() not in lowered}
    return spans | {anchor for text in texts for anchor in _anchors(text) - known}


def _anchors(text: str) -> set[str]:
    compounds = {term.text for piece in statements(text) for term in query_terms(piece) if term.is_compound}
    names = {name.lower() for name in _NAME.findall(text)}
    return compounds | names | set(_NUMBER.findall(text))
