"""Keyword hits and near vectors made one ranking, and one relevance that means the same for every query.

Lexical evidence counts as much as the best hit explains of the query: the words that a paraphrase shares with a store
are noise, those of an identifier are all there is. Meaning counts as a share of the nearest memory's: a terse query is
far from everything, and still nearer to some. A memory near a better one in the same session is lifted towards it:
answers stand next to what was asked. The numbers were chosen on LoCoMo 1-5 and the coding-agent set.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from math import log, sqrt

from memories import search
from memories.conf import config
from memories.embedders.profiles import Profile
from memories.search.keyword import Hit
from memories.search.meaning import Near
from memories.search.vectors import Close

LEAST_COVERAGE = 0.15
"""Of a query's information; less than that is chance."""
COVERAGE_POWER = 1.5
BM25_WEIGHT = 0.15
TRUST_FROM, TRUST_AT, LEAST_TRUST = 0.25, 0.5, 0.1
"""Where the best coverage makes the lexical side begin to count, where it counts in full, and what it always counts."""
MEANING_WEIGHT = 0.42
LEAST_NEAREST = 0.2
"""Of the nearest memory, on the scale of the model; where all are farther, meaning counts less."""
CHANCE = 0.15
"""How much nearer the nearest of n passages is by chance: this times the square root of ln n, as a maximum grows."""
LIFTS = {1: 0.6, 2: 0.5}
"""The share of the way up to a better memory of the session, by the steps between them, where words count in full."""
LEXICAL_RELEVANCE = 0.28
LIFTING = 10
"""Best hits that lift others."""

type Channels = dict[str, dict[str, float]]


@dataclass(frozen=True)
class Fused:
    """`close` is the passage that the vectors point to, if there is one."""

    id: int
    score: float
    coverage: float
    relevance: float
    why: Channels
    close: Close | None = None


def fuse(words: Sequence[Hit], near: Near) -> list[Fused]:
    """One list, best first. Neighbours join whatever they are: the caller leaves out what may not be found."""
    closes = near.of({hit.id for hit in words}) | {close.id: close for close in near.ranked}
    trust = _trust(words)
    meaning = _Meaning.of(closes.values(), near.profile) if near.profile else None
    if meaning is None:
        fused = [Fused(hit.id, hit.score, hit.coverage, hit.relevance, hit.why) for hit in words]
    else:
        fused = _mixed(words, near, meaning, closes, trust)
    if config().fusion == "rrf":
        return _best_first(_by_rank(fused))
    return _best_first(_lifted(_best_first(fused), near, meaning, trust))


@dataclass(frozen=True)
class _Meaning:
    """What the vectors say of a memory: `relevance` in itself, `share` beside the nearest one."""

    profile: Profile
    nearest: float

    @classmethod
    def of(cls, closes: Iterable[Close], profile: Profile) -> "_Meaning":
        return cls(profile, max((_nearness(close, profile) for close in closes), default=0.0))

    def share(self, close: Close | None) -> float:
        return _nearness(close, self.profile) / max(self.nearest, LEAST_NEAREST) if close else 0.0

    def relevance(self, hit: Hit | None, close: Close | None) -> float:
        """What words say counts fully only for a memory that has no vector to be judged by."""
        words = hit.relevance if hit else 0.0
        if close is None:
            return words
        return min(1.0, max(0.0, self.profile.scale(close.cosine) + LEXICAL_RELEVANCE * words**2))


def _nearness(close: Close, profile: Profile) -> float:
    return max(0.0, profile.scale(close.cosine) - CHANCE * sqrt(log(close.passages)))


def _trust(words: Sequence[Hit]) -> float:
    best = max((hit.coverage for hit in words), default=0.0)
    return max(LEAST_TRUST, min(1.0, (best - TRUST_FROM) / (TRUST_AT - TRUST_FROM)))


def _mixed(words: Sequence[Hit], near: Near, meaning: _Meaning, closes: dict[int, Close], trust: float) -> list[Fused]:
    hits = {hit.id: hit for hit in words}
    ranks = {close.id: rank for rank, close in enumerate(near.ranked, start=1)}
    top = max((hit.why["words"]["score"] for hit in words if "words" in hit.why), default=0.0) or 1.0
    fused = []
    for one in hits.keys() | closes.keys():
        hit, close = hits.get(one), closes.get(one)
        why: Channels = dict(hit.why) if hit else {}
        if close:
            why["vectors"] = {"rank": ranks.get(one, 0), "score": round(close.cosine, 4)}
        lexical = _lexical(hit, top) if hit else 0.0
        score = trust * lexical + MEANING_WEIGHT * meaning.share(close)
        fused.append(Fused(one, score, hit.coverage if hit else 0.0, meaning.relevance(hit, close), why, close))
    return fused


def _lexical(hit: Hit, top: float) -> float:
    covered = max(0.0, hit.coverage - LEAST_COVERAGE) / (1 - LEAST_COVERAGE)
    bm25 = hit.why["words"]["score"] / top if "words" in hit.why else 0.0
    return float(covered**COVERAGE_POWER + BM25_WEIGHT * bm25)


def _lifted(fused: list[Fused], near: Near, meaning: _Meaning | None, trust: float) -> Iterable[Fused]:
    """The best lift those around them in their sessions, which join if they were no candidates."""
    best = fused[:LIFTING]
    around = search.neighbours([one.id for one in best], reach=max(LIFTS)) if best else {}
    candidates = {one.id: one for one in fused}
    joining = {two for beside in around.values() for two in beside} - candidates.keys()
    if joining:
        candidates |= {one.id: one for one in _joined(joining, near, meaning)}
    lifts: dict[int, float] = {}
    for one in best:
        for two, steps in around.get(one.id, {}).items():
            if two in candidates:
                by = trust * LIFTS[steps] * (one.score - candidates[two].score)
                lifts[two] = max(by, lifts.get(two, 0.0))
    return (candidates | {two: _raised(candidates[two], by) for two, by in lifts.items() if by > 0}).values()


def _joined(ids: Collection[int], near: Near, meaning: _Meaning | None) -> Iterable[Fused]:
    closes = near.of(ids)
    for one in ids:
        close = closes.get(one)
        share, relevance = (meaning.share(close), meaning.relevance(None, close)) if meaning else (0.0, 0.0)
        yield Fused(one, MEANING_WEIGHT * share, 0.0, relevance, {}, close)


def _raised(one: Fused, by: float) -> Fused:
    why = {**one.why, "neighbour": {"lift": round(by, 4)}}
    return Fused(one.id, one.score + by, one.coverage, one.relevance, why, one.close)


def _by_rank(fused: Iterable[Fused]) -> Iterable[Fused]:
    """Reciprocal rank fusion (Cormack et al., 2009): only ranks count."""
    for one in fused:
        ranks = [channel["rank"] for channel in one.why.values() if channel.get("rank")]
        score = sum(1 / (config().rrf_k + rank) for rank in ranks)
        yield Fused(one.id, score, one.coverage, one.relevance, one.why, one.close)


def _best_first(fused: Iterable[Fused]) -> list[Fused]:
    return sorted(fused, key=lambda one: (-one.score, -one.id))
