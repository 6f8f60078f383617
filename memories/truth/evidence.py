"""What two texts themselves say about whether the newer one ends the older: no model, and no certainty."""

import functools
from collections.abc import Iterator
from dataclasses import dataclass

from memories.search.stopwords import DECISIVE
from memories.search.terms import content_words
from memories.sentences import clauses
from memories.truth import cues
from memories.truth.likeness import FEW_KEPT, KEPT, Rarity, overlap, parts, stem, terms
from memories.truth.measures import Measures, is_of_a_measure, measures

LEAST_LIKENESS = 0.12
"""Of a passage that tells of a change to one of the other text; chosen on three of six projects and our own texts."""
NEAR_LIKENESS = 0.08
"""The same where the vectors are near too."""
MUCH_LIKENESS = 0.2
"""The same for a passage of a long text."""
RETOLD = 0.4
"""From here on a passage that tells of the past as the other one does tells the same again."""
LONGEST_NEWER = 600
"""Characters of a text that is taken as one statement; of a longer one only passages count that are much alike."""
LONGEST_STATEMENT = 200
"""Characters; of longer texts the single statements are not compared."""
LEAST_OVERLAP = 0.22
"""Texts that share fewer words have no statement in common."""
SAME_STATEMENT = 0.5
NEARLY_THE_SAME = 0.75
LEAST_IN_COMMON = 2


@dataclass(frozen=True)
class Evidence:
    """`likeness`: how much the passages that speak against each other are alike, 0 to 1."""

    said: str
    likeness: float


@functools.lru_cache(FEW_KEPT)
def may_tell(text: str) -> bool:
    """Whether a text can be evidence against any older one; it costs nothing to ask."""
    if len(text) > LONGEST_NEWER:
        return bool(cues.changes(text))
    return len(text) <= LONGEST_STATEMENT or bool(cues.changes(text) or measures(text))


def telling(text: str) -> str:
    """The sentences of a text that may be evidence; all of it if it is short, or none may."""
    if len(text) <= LONGEST_STATEMENT:
        return text
    found = (each for each in _clauses(text) if cues.changes(each) or (len(text) <= LONGEST_NEWER and measures(each)))
    return " ".join(found) or text


def evidence(
    older: str, newer: str, *, near: bool = False, past: bool = True, rarity: Rarity | None = None
) -> Evidence | None:
    """What speaks for the newer text ending the older; `near` if their vectors are. None if nothing does.

    `past`: whether what something was counts: the reason of a change tells that, but so does an account of an incident.
    `rarity` weighs the words by the texts of which any may be the older one.
    """
    if not may_tell(newer):
        return None
    rarity = rarity or Rarity()
    found = list(_changes(older, newer, rarity, past=past, least=NEAR_LIKENESS if near else LEAST_LIKENESS))
    if len(newer) <= LONGEST_NEWER:
        found += _measured_otherwise(older, newer, rarity)
    if not found and len(newer) <= LONGEST_STATEMENT and overlap(older, newer) >= LEAST_OVERLAP:
        found += _contrasts(older, newer)
    return max(found, key=lambda one: one.likeness, default=None)


def _changes(older: str, newer: str, rarity: Rarity, *, past: bool, least: float) -> Iterator[Evidence]:
    """Passages about the same, of which the newer one tells of a change of something that the older one has."""
    if len(newer) > LONGEST_NEWER:
        least = MUCH_LIKENESS
    for ours in parts(newer):
        for theirs in parts(older) if _told(ours, past=past) else ():
            words = terms(theirs)
            said = _told_of(words, ours, past=past)
            likeness = rarity.likeness(terms(ours), words) if said else 0.0
            if past and likeness >= RETOLD and _is_past(theirs):
                said = _told_of(words, ours, past=False)
            if said and likeness >= least:
                yield Evidence(f"change: {said}", round(likeness, 3))


def _told_of(words: frozenset[str], passage: str, *, past: bool) -> str:
    return next((said for about, said in _told(passage, past=past) if about & words), "")


@functools.lru_cache(KEPT)
def _told(passage: str, *, past: bool) -> tuple[tuple[frozenset[str], str], ...]:
    """What a passage tells of changes, each with the words that it may be about."""
    found = []
    for sentence in _clauses(passage):
        changes = cues.changes(sentence)
        if changes:
            found.append((terms(sentence) - terms(" ".join(changes)), changes[0]))
        if past:
            found += [(terms(subject), said) for subject, said in cues.past(sentence)]
    return tuple(found)


@functools.lru_cache(KEPT)
def _is_past(passage: str) -> bool:
    return any(terms(subject) for sentence in _clauses(passage) for subject, _ in cues.past(sentence))


def _measured_otherwise(older: str, newer: str, rarity: Rarity) -> Iterator[Evidence]:
    """Another number of the same unit in sentences about the same."""
    for ours, new in _measured(newer):
        for theirs, old in _measured(older):
            unit = next((unit for unit in new if unit in old and not new[unit] & old[unit]), "")
            likeness = rarity.likeness(ours, theirs) if unit else 0.0
            if likeness >= LEAST_LIKENESS:
                yield Evidence(f"number: {min(old[unit])} / {min(new[unit])} {unit}", round(likeness, 3))


@functools.lru_cache(FEW_KEPT)
def _measured(text: str) -> tuple[tuple[frozenset[str], Measures], ...]:
    """The sentences of a text that have numbers: their other words, and the numbers of each unit."""
    found = []
    for sentence in _clauses(text):
        numbers = measures(sentence)
        if numbers:
            words = (word for word in terms(sentence) if word not in numbers and not is_of_a_measure(word))
            found.append((frozenset(words), numbers))
    return tuple(found)


def _contrasts(older: str, newer: str) -> Iterator[Evidence]:
    """The same short statement with another number, another value, or denied."""
    for one in _statements(older):
        for two in _statements(newer):
            likeness = one.likeness(two) if one.subject == two.subject else 0.0
            said = _difference(one, two, likeness) if likeness >= SAME_STATEMENT else ""
            if said:
                yield Evidence(said, round(likeness, 3))


def _difference(one: "_Statement", two: "_Statement", likeness: float) -> str:
    if len(one.words & two.words) < LEAST_IN_COMMON:
        return ""
    old, new = sorted(one.words - two.words), sorted(two.words - one.words)
    if one.numbers != two.numbers:
        other = likeness >= NEARLY_THE_SAME or not (old or new)
        return f"number: {' '.join(one.numbers) or '-'} / {' '.join(two.numbers) or '-'}" if other else ""
    if one.negated != two.negated:
        return "negation"
    return f"value: {old[0]} / {new[0]}" if len(old) == len(new) == 1 else ""


class _Statement:
    def __init__(self, sentence: str) -> None:
        words = [stem(word) for word in content_words(sentence)]
        self.numbers = tuple(word for word in words if any(character.isdigit() for character in word))
        plain = [word for word in words if word not in self.numbers and word not in DECISIVE and word.isalnum()]
        self.words = frozenset(plain)
        self.subject = plain[0] if plain else ""
        self.negated = cues.negated(sentence)

    def likeness(self, other: "_Statement") -> float:
        both = self.words | other.words
        return len(self.words & other.words) / len(both) if both else 0.0


@functools.lru_cache(FEW_KEPT)
def _statements(text: str) -> tuple[_Statement, ...]:
    return tuple(map(_Statement, _clauses(text)))


def _clauses(text: str) -> Iterator[str]:
    return (clause for start, end in clauses(text) if (clause := text[start:end].strip()))
