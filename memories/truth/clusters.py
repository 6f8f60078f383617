"""Which of many texts say nearly the same: groups whose members are all alike, each to each. Nothing here is stored."""

import heapq
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from memories.embedders import Vectors
from memories.search.stopwords import DECISIVE
from memories.search.terms import content_words
from memories.truth import cues
from memories.truth.evidence import evidence
from memories.truth.extracts import statements

MOST_TOGETHER = 12
LEAST_SHARED = 0.5
"""Of the content words that two texts have together (Jaccard)."""
MOST_NEIGHBOURS = 40
"""Of one text, the likest; more than a group can hold."""
SAME_STATEMENT = 0.5
BLOCK = 512
SLACK = 1e-4
"""A product of matrices rounds otherwise than one of two vectors, which decides."""
_OPPOSITES = """
only all any each every some few many more most less before after above below over under off until
nur alle seulement tout tous solo todo todos только все до после
"""
_OPPOSED = DECISIVE & set(_OPPOSITES.split())

LEAST_SCALED = 1.2
"""Of a cosine on the scale of its model (`Profile.scale`). Of coding notes with MiniLM, those that tell the same again
stand from 1.22 to 1.5; the nearest that do not, and do not contradict each other either, at 1.05."""

type Group = tuple[int, ...]


class Texts:
    """Texts in order of time, some with a vector, compared by both. Two are alike if either says so."""

    def __init__(self, texts: Sequence[str], vectors: Mapping[int, Vectors], *, least_cosine: float) -> None:
        self.texts, self.vectors, self.least_cosine = texts, vectors, least_cosine
        self.words = [frozenset(content_words(text)) for text in texts]
        self._statements: dict[int, list[_Statement]] = {}
        self._joinable: dict[tuple[int, int], bool] = {}

    def likeness(self, one: int, two: int) -> float:
        """0 for texts that are not alike."""
        shared = self._shared(one, two)
        cosine = self._cosine(one, two)
        return max(shared if shared >= LEAST_SHARED else 0.0, cosine if cosine >= self.least_cosine else 0.0)

    def joinable(self, one: int, two: int) -> bool:
        """Alike, and neither says anything against the other."""
        pair = (one, two) if one < two else (two, one)
        if pair not in self._joinable:
            self._joinable[pair] = self.likeness(*pair) > 0 and not self._contradict(*pair)
        return self._joinable[pair]

    def _shared(self, one: int, two: int) -> float:
        ours, theirs = self.words[one], self.words[two]
        both = len(ours & theirs)
        return both / (len(ours) + len(theirs) - both) if both else 0.0

    def _cosine(self, one: int, two: int) -> float:
        ours, theirs = self.vectors.get(one), self.vectors.get(two)
        return -1.0 if ours is None or theirs is None else float(ours.astype(np.float64) @ theirs.astype(np.float64))

    def _contradict(self, one: int, two: int) -> bool:
        if any(ours.denies(theirs) for ours in self._said(one) for theirs in self._said(two)):
            return True
        first, second = self.texts[one], self.texts[two]
        directions = ((first, second), (second, first))
        return any(evidence(older, newer, near=True, past=False) for older, newer in directions)

    def _said(self, one: int) -> "list[_Statement]":
        if one not in self._statements:
            self._statements[one] = [_Statement(sentence) for sentence in statements(self.texts[one])]
        return self._statements[one]


class _Statement:
    def __init__(self, sentence: str) -> None:
        words = content_words(sentence)
        marks = {word for word in words if not word.isalpha() or word in _OPPOSED}
        self.words = frozenset(words) - marks - DECISIVE
        self.marks = (frozenset(marks), cues.negated(sentence))

    def denies(self, other: "_Statement") -> bool:
        """The same statement with other numbers, signs or quantifiers, or the opposite."""
        if self.marks == other.marks:
            return False
        both = len(self.words & other.words)
        return both > 0 and both >= SAME_STATEMENT * len(self.words | other.words)


def find(texts: Sequence[str], vectors: Mapping[int, Vectors], *, least_cosine: float, longest: int) -> list[Group]:
    """Groups of indices, each in order; `longest` bounds the characters of a group with its line ends.

    The likest pairs are joined first. What is left over makes no further group: to find again finds nothing new.
    """
    known = Texts(texts, vectors, least_cosine=least_cosine)
    left = list(range(len(texts)))
    found: list[Group] = []
    while left:
        pairs = sorted(_pairs(known, left), key=lambda pair: (-round(pair[0], 6), pair[1], pair[2]))
        groups = _joined(known, pairs, longest=longest)
        if not groups:
            break
        found += groups
        taken = set(chain.from_iterable(groups))
        left = [one for one in left if one not in taken]
    return sorted(found)


def _joined(known: Texts, pairs: Sequence[tuple[float, int, int]], *, longest: int) -> list[Group]:
    group: dict[int, list[int]] = {}
    for _, one, two in pairs:
        ours, theirs = group.get(one, [one]), group.get(two, [two])
        together = [*ours, *theirs]
        if ours is theirs or len(together) > MOST_TOGETHER:
            continue
        if sum(len(known.texts[each]) + 1 for each in together) > longest:
            continue
        if all(known.joinable(each, other) for each in ours for other in theirs):
            group |= dict.fromkeys(together, together)
    return sorted({tuple(sorted(members)) for members in group.values()})


def _pairs(known: Texts, left: Sequence[int]) -> set[tuple[float, int, int]]:
    """(likeness, earlier, later) of pairs that are alike, for each text those with its likest before it."""
    found: dict[int, set[int]] = defaultdict(set)
    for one, two in chain(_sharing(known.words, left), _near(known, left)):
        found[max(one, two)].add(min(one, two))
    pairs = set()
    for later, earlier in found.items():
        alike = ((known.likeness(one, later), one, later) for one in earlier)
        pairs |= set(heapq.nlargest(MOST_NEIGHBOURS, (pair for pair in alike if pair[0] > 0)))
    return pairs


def _sharing(words: Sequence[frozenset[str]], left: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Pairs that share enough words, for each text at most the likest before it. Exact, by counting."""
    having: dict[str, list[int]] = defaultdict(list)
    for at, one in enumerate(left):
        for word in words[one]:
            having[word].append(at)
    places = {word: np.array(texts) for word, texts in having.items() if len(texts) > 1}
    sizes = np.array([len(words[one]) for one in left])
    for at, one in enumerate(left):
        lists = [places[word] for word in words[one] if word in places]
        if not lists:
            continue
        both = np.bincount(np.concatenate(lists), minlength=at)[:at]
        shared = both / (sizes[:at] + sizes[at] - both)
        yield from ((left[int(other)], one) for other in _best(shared, LEAST_SHARED - SLACK))


def _best(values: npt.NDArray[Any], least: float) -> npt.NDArray[np.int64]:
    """Where the highest values stand that are no less than the least."""
    found = np.flatnonzero(values >= least)
    if len(found) > MOST_NEIGHBOURS:
        found = found[np.argsort(-values[found], kind="stable")[:MOST_NEIGHBOURS]]
    return found


def _near(known: Texts, left: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Pairs whose vectors are near, for each text at most the nearest after it."""
    having = [one for one in left if one in known.vectors]
    if not having:
        return
    rows = np.stack([known.vectors[one] for one in having])
    for start in range(0, len(rows), BLOCK):
        cosines = rows[start : start + BLOCK] @ rows[start:].T
        for at, row in enumerate(cosines):
            near = _best(row[at + 1 :], known.least_cosine - SLACK) + at + 1
            yield from ((having[start + at], having[start + int(other)]) for other in near)
