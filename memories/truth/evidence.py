"""What two texts themselves say about whether the newer one ends the older: no model, and no certainty."""

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass

from memories.passages import passages
from memories.search.stopwords import DECISIVE, STOPWORDS
from memories.search.terms import content_words, query_terms
from memories.truth import cues

MOST_PASSAGES = 100
LEAST_OVERLAP = 0.22
"""Of the words of the smaller side, for a change word to speak of the other text. Chosen on three of six projects."""
NEAR_OVERLAP = 0.11
"""The same where the vectors are near too."""
MUCH_OVERLAP = 0.35
"""The same for a passage of a long text."""
LONGEST_NEWER = 600
"""Characters of a text that is taken as one statement; of a longer one only passages count that share much."""
LONGEST_STATEMENT = 200
"""Characters; of longer texts the single statements are not compared."""
SAME_STATEMENT = 0.5
NEARLY_THE_SAME = 0.75
KEPT, FEW_KEPT = 4096, 256
"""Passages whose words are kept, and whole texts: one is compared with several others in turn."""
LEAST_IN_COMMON = 2
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；])|\n+")
_MEASURE = re.compile(r"(?<![\w.])(\d+(?:[.,]\d+)*)\s?([^\W\d_]+|%)")
_ENDINGS = ("ing", "ed", "es", "s")


@dataclass(frozen=True)
class Evidence:
    """`overlap`: the share of the words of the smaller side that both have, 0 to 1."""

    said: str
    overlap: float


@functools.lru_cache(KEPT)
def terms(text: str) -> frozenset[str]:
    """The telling words of a text, without their commonest endings."""
    return frozenset(_stem(term.text) for term in query_terms(text))


def overlap(older: str, newer: str) -> float:
    """The best over the passages of the older text, so that a long one shares no more by its length."""
    ours = terms(newer)
    theirs = [terms(each) for each in _passages(older)]
    return max((len(each & ours) / min(len(each), len(ours)) for each in theirs if each and ours), default=0.0)


@functools.lru_cache(FEW_KEPT)
def _passages(text: str) -> tuple[str, ...]:
    return tuple(text[start:end] for start, end in passages(text)[:MOST_PASSAGES])


@functools.lru_cache(FEW_KEPT)
def may_tell(text: str) -> bool:
    """Whether a text can be evidence against any older one; it costs nothing to ask."""
    if len(text) > LONGEST_NEWER:
        return bool(cues.changes(text))
    return len(text) <= LONGEST_STATEMENT or bool(cues.changes(text) or _measures(text))


def telling(text: str) -> str:
    """The sentences of a text that tell of a change; all of it if it is short, or none does."""
    if len(text) <= LONGEST_STATEMENT:
        return text
    return " ".join(sentence for sentence in _sentences(text) if cues.changes(sentence)) or text


def evidence(older: str, newer: str, *, near: bool = False) -> Evidence | None:
    """What speaks for the newer text ending the older; `near` if their vectors are. None if nothing does."""
    if not may_tell(newer):
        return None
    if len(newer) > LONGEST_NEWER:
        return _in_passing(older, newer)
    shared = overlap(older, newer)
    if shared >= (NEAR_OVERLAP if near else LEAST_OVERLAP):
        said = _change(terms(older), newer) or _contrast(older, newer)
        if not said and shared >= LEAST_OVERLAP:
            said = _measured_otherwise(older, newer)
        if said:
            return Evidence(said, round(shared, 3))
    return None


def _in_passing(older: str, newer: str) -> Evidence | None:
    """A long text tells of a change in a passage that is much about the older one."""
    for passage in _passages(newer):
        shared = overlap(older, passage)
        said = _change(terms(older), passage) if shared >= MUCH_OVERLAP else ""
        if said:
            return Evidence(said, round(shared, 3))
    return None


def _change(older: frozenset[str], newer: str) -> str:
    """A change word in a sentence that speaks of something the older text has, other than a change."""
    for sentence in _sentences(newer):
        found = cues.changes(sentence)
        if found and (terms(sentence) & older) - terms(" ".join(found)):
            return f"change: {found[0]}"
    return ""


def _measured_otherwise(older: str, newer: str) -> str:
    """Another number of the same unit."""
    ours, theirs = _measures(newer), _measures(older)
    for unit in sorted(ours.keys() & theirs.keys()):
        if not ours[unit] & theirs[unit]:
            return f"number: {min(theirs[unit])} / {min(ours[unit])} {unit}"
    return ""


@functools.lru_cache(KEPT)
def _measures(text: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for number, unit in _MEASURE.findall(text):
        name = _stem(unit.casefold())
        if name not in STOPWORDS:
            found.setdefault(name, set()).add(number)
    return found


def _contrast(older: str, newer: str) -> str:
    """The same short statement with another number, another value, or denied."""
    if len(newer) > LONGEST_STATEMENT:
        return ""
    found = (_difference(one, two) for one in _sentences(older) for two in _sentences(newer))
    return next((difference for difference in found if difference), "")


def _difference(older: str, newer: str) -> str:
    one, two = _statement(older), _statement(newer)
    alike = one.likeness(two)
    if alike < SAME_STATEMENT or one.subject != two.subject or len(one.words & two.words) < LEAST_IN_COMMON:
        return ""
    old, new = sorted(one.words - two.words), sorted(two.words - one.words)
    if one.numbers != two.numbers:
        other = alike >= NEARLY_THE_SAME or not (old or new)
        return f"number: {' '.join(one.numbers) or '-'} / {' '.join(two.numbers) or '-'}" if other else ""
    if one.negated != two.negated:
        return "negation"
    return f"value: {old[0]} / {new[0]}" if len(old) == len(new) == 1 else ""


class _Statement:
    def __init__(self, sentence: str) -> None:
        words = [_stem(word) for word in content_words(sentence)]
        self.numbers = tuple(word for word in words if any(character.isdigit() for character in word))
        plain = [word for word in words if word not in self.numbers and word not in DECISIVE and word.isalnum()]
        self.words = frozenset(plain)
        self.subject = plain[0] if plain else ""
        self.negated = cues.negated(sentence)

    def likeness(self, other: "_Statement") -> float:
        both = self.words | other.words
        return len(self.words & other.words) / len(both) if both else 0.0


@functools.lru_cache(KEPT)
def _statement(sentence: str) -> _Statement:
    return _Statement(sentence)


def _sentences(text: str) -> Iterator[str]:
    return (sentence for piece in _SENTENCE_END.split(text) if (sentence := piece.strip()))


def _stem(word: str) -> str:
    return next((word.removesuffix(end) for end in _ENDINGS if word.endswith(end) and len(word) > len(end) + 2), word)
