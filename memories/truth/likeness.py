"""How much two texts speak of the same: the cosine of their words, of which the rare ones count most."""

import functools
import math
from collections import Counter
from collections.abc import Iterable
from itertools import chain

from memories.passages import passages
from memories.search.terms import query_terms

MOST_PASSAGES = 100
KEPT, FEW_KEPT = 4096, 256
"""Passages whose words are kept, and whole texts: one is compared with several others in turn."""
TEXTS_COMPARED = 20
"""The rarity of words is counted as among that many, so that of few texts every word counts alike."""
_SQUARES = tuple(math.log((TEXTS_COMPARED + 1) / max(count, 1)) ** 2 for count in range(TEXTS_COMPARED + 1))
"""Of the inverse document frequency of a word that so many texts have."""
MOST_WORDS = 0.6
_ENDINGS = ("ing", "ed", "es", "s")


@functools.lru_cache(KEPT)
def terms(text: str) -> frozenset[str]:
    """The telling words of a text, without their commonest endings."""
    return frozenset(stem(term.text) for term in query_terms(text))


def stem(word: str) -> str:
    return next((word.removesuffix(end) for end in _ENDINGS if word.endswith(end) and len(word) > len(end) + 2), word)


@functools.lru_cache(FEW_KEPT)
def parts(text: str) -> tuple[str, ...]:
    """A text in passages, so that a long one shares no more by its length."""
    return tuple(text[start:end] for start, end in passages(text)[:MOST_PASSAGES])


def overlap(older: str, newer: str) -> float:
    """The share of the words of the smaller side that both have, the best over the parts of the older text."""
    ours = terms(newer)
    theirs = [terms(each) for each in parts(older)]
    return max((len(each & ours) / min(len(each), len(ours)) for each in theirs if each and ours), default=0.0)


def shares_most(older: str, newer: str, *, least: int) -> bool:
    """Whether texts of which only the words are known are much alike, with `least` words in common."""
    return len(terms(older) & terms(newer)) >= least and overlap(older, newer) >= MOST_WORDS


class Rarity:
    """Weighs words by how few of some texts contain them: one that all of them have does not tell them apart."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._texts = tuple(texts)
        self._weights: dict[frozenset[str], float] = {}

    def likeness(self, one: frozenset[str], two: frozenset[str]) -> float:
        """The cosine of two sets of words, 0 to 1."""
        shared = one & two
        return self._weight(shared) / math.sqrt(self._weight(one) * self._weight(two)) if shared else 0.0

    def _weight(self, words: frozenset[str]) -> float:
        weight = self._weights.get(words)
        if weight is None:
            weight = sum(_SQUARES[min(self._counts.get(word, 1), TEXTS_COMPARED)] for word in words)
            self._weights[words] = weight
        return weight

    @functools.cached_property
    def _counts(self) -> Counter[str]:
        """In how many of the texts each word is."""
        return Counter(chain.from_iterable(frozenset().union(*map(terms, parts(text))) for text in self._texts))
