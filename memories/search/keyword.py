"""The keyword channels: words (porter, with bigrams for unspaced scripts) and, for what is no word here, trigrams.

A hit carries two kinds of evidence. BM25 orders; relevance decides, from the information that query and memory share,
the sum of the inverse document frequencies of their common terms. It counts as a share of all that was asked for
(coverage), or, since a long prompt is never covered, by its amount: as much as some words have that occur only once.
Both are absolute, so they mean the same for every query; a BM25 score does not.
"""

import math
from collections.abc import Collection
from dataclasses import dataclass, field

from django.db import connection

from memories import search
from memories.querysets import MemoryQuerySet
from memories.search import Place
from memories.search.terms import Term, any_of, query_terms

MAX_TERMS = 24
"""Of a longer prompt the rarest ones: a dozen costs a quarter of the reciprocal rank, more gain nothing."""
MOST_WEIGHED = 64
LONGEST_PIECE = 64
"""Characters: a part of a word is looked for as a phrase, which costs as a compound does."""
CANDIDATES = 50
BM25_SHARE = 0.4
ENOUGH = 4.5
"""Words that occur only once, and are shared by query and memory, make a memory fully relevant to any prompt."""
PRIOR_MEMORIES = 1000
"""A store is weighed as if it held this many memories more, so that in a small one every word counts alike."""


@dataclass(frozen=True)
class Hit:
    """`why` holds each channel's rank (from 1) and raw score."""

    id: int
    score: float
    coverage: float
    relevance: float
    why: dict[str, dict[str, float]] = field(default_factory=dict)


@dataclass(frozen=True)
class Weighed:
    """A term with its inverse document frequency and which candidates contain it."""

    term: Term
    documents: int
    idf: float
    members: frozenset[int]


def idf(documents: int, *, total: int) -> float:
    """Inverse document frequency as in BM25 (Robertson and Zaragoza, 2009), never negative."""
    rest = total + PRIOR_MEMORIES - documents
    return math.log(1 + (max(rest, 0) + 0.5) / (documents + 0.5))


def find(
    queryset: MemoryQuerySet, query: str, *, places: Collection[Place] = (), keep_stopwords: bool = False
) -> list[Hit]:
    """The best memories of a queryset for a query, best first; [] if the query says nothing.

    `places` are the scopes and projects that the queryset is narrowed to, as far as they are known.
    """
    terms = query_terms(query, keep_stopwords=keep_stopwords)
    return _Search(queryset, places).run(terms) if terms else []


class _Search:
    def __init__(self, queryset: MemoryQuerySet, places: Collection[Place]) -> None:
        self.queryset = queryset
        self.places = places
        self.index = search.vendor(connection.vendor)
        self.total = self.index.size()

    def run(self, terms: list[Term]) -> list[Hit]:
        if len(terms) > MAX_TERMS:
            terms = self._most_telling(terms)
        words = self.index.ranked(self.queryset, self.index.within(any_of(terms), self.places), limit=CANDIDATES)
        weighed = self._weigh(terms, frozenset(one for one, _ in words))
        strange = [one.term for one in weighed if not one.documents and self._may_be_a_piece(one.term)]
        pieces = self._pieces(strange)
        if pieces:
            weighed = self._weigh(terms, frozenset(one for one, _ in (*words, *pieces)))
        asked = sum(one.idf for one in weighed if one.documents or not one.term.is_compound)
        return self._hits(words, pieces, weighed, asked)

    def _most_telling(self, terms: list[Term]) -> list[Term]:
        """The rarest terms of a long prompt among those that occur at all."""
        half = MOST_WEIGHED // 2
        ends = terms if len(terms) <= MOST_WEIGHED else [*terms[:half], *terms[-half:]]
        counted = [(self.index.occurrences(term.match)[0], place, term) for place, term in enumerate(ends)]
        known = sorted((one for one in counted if one[0]), key=lambda one: one[:2])[:MAX_TERMS]
        return [term for _, _, term in known] or terms[:MAX_TERMS]

    def _may_be_a_piece(self, term: Term) -> bool:
        shortest = self.index.SHORTEST_PIECE
        if term.is_compound or not shortest <= len(term.text) <= LONGEST_PIECE:
            return False
        grams = [term.text[start : start + shortest] for start in range(len(term.text) - shortest + 1)]
        return len(grams) <= 2 * len(set(grams))  # a run of one character stands at every place of a longer one

    def _pieces(self, terms: list[Term]) -> list[tuple[int, float]]:
        if not terms:
            return []
        found: list[tuple[int, float]] = self.index.ranked(
            self.queryset, any_of(terms), limit=CANDIDATES, table=self.index.PIECES
        )
        return found

    def _weigh(self, terms: list[Term], ids: frozenset[int]) -> list[Weighed]:
        return [self._weigh_one(term, ids) for term in terms]

    def _weigh_one(self, term: Term, ids: frozenset[int]) -> Weighed:
        documents, members = self.index.occurrences(term.match, ids)
        if not documents and self._may_be_a_piece(term):
            found, members = self.index.occurrences(term.match, ids, table=self.index.PIECES)
            if members:
                documents = found
        return Weighed(term, documents, idf(documents, total=self.total), members)

    def _hits(
        self,
        words: list[tuple[int, float]],
        pieces: list[tuple[int, float]],
        weighed: list[Weighed],
        asked: float,
    ) -> list[Hit]:
        why: dict[int, dict[str, dict[str, float]]] = {}
        for name, channel in (("words", words), ("pieces", pieces)):
            for rank, (one, raw) in enumerate(channel, start=1):
                why.setdefault(one, {})[name] = {"rank": rank, "score": round(raw, 4)}
        best = {name: channel[0][1] or 1.0 for name, channel in (("words", words), ("pieces", pieces)) if channel}
        enough = ENOUGH * idf(1, total=self.total)
        hits = []
        for one, channels in why.items():
            shared = sum(term.idf for term in weighed if one in term.members)
            covered = shared / asked if asked else 0.0
            lexical = max(found["score"] / best[name] for name, found in channels.items())
            score = BM25_SHARE * lexical + (1 - BM25_SHARE) * covered
            hits.append(Hit(one, score, covered, min(1.0, max(covered, shared / enough)), channels))
        return sorted(hits, key=lambda hit: (-hit.score, -hit.id))
