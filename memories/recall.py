"""The read path: search inside the filters, judge, pack. Nothing here writes."""

import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from math import log
from typing import Literal

from memories import accesses, clock, search, statements
from memories.block import Block, Entry, render, room, width
from memories.conf import config
from memories.draft import labels, one_of
from memories.errors import Rejected
from memories.excerpts import excerpt
from memories.life import Traits, vitality
from memories.models import Kind, Memory
from memories.places import label, project_to_read
from memories.querysets import ANY_PROJECT, MemoryQuerySet
from memories.search import Place, fusion, keyword, meaning
from memories.search.fusion import Fused
from memories.search.terms import content_words, query_terms
from memories.truth import conflicts
from memories.truth.conflicts import Mark

LIMIT = 50
LARGEST_BUDGET = 1_000_000
BY_WORDS = 0.5
"""Coverage from which the words of a query, not the vectors, choose the passage of a long memory."""
DOUBTS = {"pending": "maybe outdated", "confirmed": "partly outdated"}
BEST = 10
"""A newer memory that is not among so many best ones does not answer the query, and rises above none of them."""
MOST_BOOST = 2.0
"""The boost of injections never exceeds 1 + this times its weight, however often a memory was injected."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """`exclude` holds uids that are in the client's context already, `fingerprint` that of the block it has."""

    query: str
    mode: Literal["inject", "search"] = "inject"
    scope: str = ""
    project: str | None = None
    cwd: str | None = None
    limit: int = 5
    budget_chars: int = 2000
    kinds: Sequence[str] = ()
    tags: Sequence[str] = ()
    as_of: str | date | None = None
    exclude: frozenset[str] = frozenset()
    fingerprint: str = ""


@dataclass(frozen=True)
class Item:
    memory: Memory
    excerpt: str
    entry: Entry
    score: float
    relevance: float
    why: dict[str, object]
    doubt: str = ""


@dataclass(frozen=True)
class Withheld:
    """Why hits are not in the block; `best_relevance` is that of the best hit left out as not relevant enough."""

    below_relevance: int = 0
    in_context: int = 0
    over_budget: int = 0
    best_relevance: float = 0.0


@dataclass(frozen=True)
class Recalled:
    block: Block = field(default_factory=Block)
    unchanged: bool = False
    fingerprint: str = ""
    items: tuple[Item, ...] = ()
    withheld: Withheld = field(default_factory=Withheld)
    degraded: str | None = None
    project: str = ""
    took_ms: float = 0.0


type Fate = Literal["in the block", "below the gate", "said by a newer one", "over the budget", "over the limit"]


@dataclass(frozen=True)
class _Hit:
    """A candidate with what ranks it; its text is read only if it may be shown."""

    id: int
    uid: str
    valid_from: datetime
    score: float
    relevance: float
    why: dict[str, object]
    passage: tuple[int, int] | None = None
    doubt: str = ""


def recall(question: Question) -> Recalled:
    """What the store knows that bears on a query. Raises Rejected for a filter that cannot be meant."""
    answer, _hits = _answered(question)
    if not question.as_of:
        accesses.note(item.memory.pk for item in answer.items)
    return answer


@dataclass(frozen=True)
class Examined:
    """What a question would be answered, and the best candidates, each with what becomes of it."""

    answer: Recalled
    candidates: tuple[tuple[Item, Fate], ...]
    total: int


def examine(question: Question) -> Examined:
    """The answer explained. Nothing is counted: a person looks, no agent is told."""
    answer, hits = _answered(question)
    fitting = {item.memory.pk for item in _fitting(answer.items, question.budget_chars)[0]}
    below = {hit.id for hit in hits if hit.relevance < config().inject_min_relevance}
    gated = below - fitting if question.mode == "inject" else set()
    return Examined(answer, tuple(_fates(list(_items(hits[:LIMIT], question)), question, fitting, gated)), len(hits))


def _fates(
    items: Sequence[Item], question: Question, fitting: Collection[int], gated: Collection[int]
) -> Iterator[tuple[Item, Fate]]:
    folds = question.mode == "inject"
    said = {content_words(item.excerpt) for item in items if item.memory.pk in fitting}
    taken = 0
    for item in items:
        fate: Fate = "over the limit"
        if item.memory.pk in gated:
            fate = "below the gate"
        elif folds and item.memory.pk not in fitting and content_words(item.excerpt) in said:
            fate = "said by a newer one"
        elif taken < question.limit:
            taken += 1
            fate = "in the block" if item.memory.pk in fitting else "over the budget"
        yield item, fate


def _answered(question: Question) -> tuple[Recalled, list[_Hit]]:
    started = time.perf_counter()
    now = clock.now()
    queryset, scope, project = _filtered(question, now=now)
    places = [] if project == ANY_PROJECT else [(scope, project), (scope, "")]
    hits, degraded = _ranked(queryset, question, scope, places, now=now)
    answer = _inject(hits, question) if question.mode == "inject" else _search(hits, question)
    took = round((time.perf_counter() - started) * 1000, 2)
    return replace(answer, project=project, degraded=degraded, took_ms=took), hits


def _filtered(question: Question, *, now: datetime) -> tuple[MemoryQuerySet, str, str]:
    """The memories that may be found, and the scope and project that they are narrowed to."""
    if question.mode not in ("inject", "search"):
        raise Rejected(f"mode {question.mode!r} is unknown; it is inject or search.")
    if not 1 <= question.limit <= LIMIT:
        raise Rejected(f"limit lies between 1 and {LIMIT}.")
    if not 0 <= question.budget_chars <= LARGEST_BUDGET:
        raise Rejected(f"budget_chars lies between 0 and {LARGEST_BUDGET}.")
    scope = label(question.scope, name="scope") or config().scope
    project = project_to_read(question.project, cwd=question.cwd, scope=scope)
    moment = clock.moment(question.as_of, name="as_of")
    queryset = (  # the project first: it leaves out most rows
        Memory.objects.in_project(project)
        .in_scope(scope)
        .of_kinds(one_of(Kind, kind, name="kind") for kind in question.kinds)
        .tagged(labels(question.tags))
    )
    return queryset.as_of(moment, now) if moment else queryset.current(now), scope, project


def _ranked(
    queryset: MemoryQuerySet, question: Question, scope: str, places: Collection[Place], *, now: datetime
) -> tuple[list[_Hit], str | None]:
    """Every candidate with its boosts applied, best first, in a total order, and why meaning is left out if it is."""
    keep_stopwords = question.mode == "search"
    if not query_terms(question.query, keep_stopwords=keep_stopwords):
        return [], None  # "thanks", "yes please": no word that tells anything
    words = keyword.find(queryset, question.query, places=places, keep_stopwords=keep_stopwords)
    near = meaning.find(queryset, question.query, scope=scope, places=places, superseded=question.as_of is not None)
    found = fusion.fuse(words, near)
    doubts = conflicts.marks([hit.id for hit in found])
    traits = search.traits(queryset, {hit.id for hit in found} | {mark.newer for mark in doubts})
    hits = _in_order(_boosted(hit, traits[hit.id], now=now) for hit in found if hit.id in traits)
    if doubts:
        hits = _in_order(_newer_above_older(hits, doubts, traits, joins=question.mode == "inject"))
    return hits, near.degraded


def _in_order(hits: Iterable[_Hit]) -> list[_Hit]:
    newest_first = sorted(hits, key=lambda hit: (hit.valid_from, hit.id), reverse=True)
    return sorted(newest_first, key=lambda hit: -hit.score)


def _boosted(hit: Fused, traits: Traits, *, now: datetime) -> _Hit:
    injections = injection_boost(traits.injections, weight=config().inject_boost)
    life = vitality(traits, now=now)
    boosts = {"injections": round(injections, 4), "life": round(life, 4)}
    why = {**hit.why, "coverage": round(hit.coverage, 4), "boosts": boosts}
    passage = (hit.close.start, hit.close.end) if hit.close and hit.coverage < BY_WORDS else None
    return _Hit(hit.id, traits.uid, traits.valid_from, hit.score * injections * life, hit.relevance, why, passage)


def _newer_above_older(
    hits: Sequence[_Hit], doubts: Sequence[Mark], traits: Mapping[int, Traits], *, joins: bool
) -> list[_Hit]:
    """Of two memories that may contradict each other the older is marked, and the newer stands no lower, unless the
    older alone is one of the best. One text ends one other: of several older ones only that which is most like it.

    `joins`: newer memories that the query did not find are added, so that nothing doubtful is injected alone.
    """
    found = {hit.id: hit for hit in hits}
    likest = {mark.newer: mark for mark in sorted(doubts, key=lambda mark: mark.similarity)}
    best = {hit.id for hit in hits[:BEST]}
    rising = {mark for one, mark in likest.items() if one in best or (one in found and mark.older not in best)}
    for mark in doubts:
        older, trait = found.get(mark.older), traits.get(mark.newer)
        if older is None or trait is None:  # the newer one may not be found here, or was not true then
            continue
        state = "confirmed" if mark.is_confirmed else "pending"
        why = {**older.why, "conflict": {"newer": trait.uid, "state": state}}
        found[mark.older] = replace(older, doubt=DOUBTS[state], why=why)
        if not mark.is_confirmed and (joins or mark in rising):
            newer = found.get(mark.newer) or _Hit(mark.newer, trait.uid, trait.valid_from, 0.0, 0.0, {})
            found[mark.newer] = replace(
                newer,
                score=max(newer.score, older.score),
                relevance=max(newer.relevance, older.relevance),
                why={**newer.why, "conflict": {"older": older.uid, "state": state}},
            )
    return list(found.values())


def injection_boost(injections: int, *, weight: float) -> float:
    """1 for a memory never injected, growing with the logarithm of the count up to a bound."""
    return 1 + weight * min(log(1 + injections), MOST_BOOST) if injections else 1.0


def _search(hits: list[_Hit], question: Question) -> Recalled:
    """Broad: no gate; the budget bounds the block only."""
    items = tuple(_items(hits[: question.limit], question))
    fitting, left_out = _fitting(items, question.budget_chars)
    block = render(item.entry for item in fitting)
    return Recalled(block, False, block.fingerprint, items, Withheld(over_budget=left_out))


def _inject(hits: list[_Hit], question: Question) -> Recalled:
    """Precise: only what passes the gate and is not in the client's context yet."""
    gate = config().inject_min_relevance
    passed = [hit for hit in hits if hit.relevance >= gate]
    below = [hit.relevance for hit in hits if hit.relevance < gate]
    fresh = [hit for hit in passed if hit.uid not in question.exclude]
    items = _folded(_items(fresh, question), question.limit)
    fitting, left_out = _fitting(items, question.budget_chars)
    block = render(item.entry for item in fitting)
    withheld = Withheld(len(below), len(passed) - len(fresh), left_out, round(max(below, default=0.0), 4))
    all_known = bool(passed) and not fresh
    if all_known or (block.text and block.fingerprint == question.fingerprint):
        return Recalled(unchanged=True, fingerprint=question.fingerprint, withheld=withheld)
    return Recalled(block, False, block.fingerprint, tuple(fitting), withheld)


def _items(hits: list[_Hit], question: Question) -> Iterator[Item]:
    """Hits with their texts, read in small batches, so that what is not needed is never read."""
    words = [term.text for term in query_terms(question.query, keep_stopwords=True)]
    for start in range(0, len(hits), question.limit):
        batch = hits[start : start + question.limit]
        memories = statements.by_ids(Memory, [hit.id for hit in batch])
        for hit in batch:
            if hit.id in memories:
                yield _item(hit, memories[hit.id], words)


def _item(hit: _Hit, memory: Memory, words: Sequence[str]) -> Item:
    shown = excerpt(memory.content, words, near=hit.passage)
    entry = Entry.of(
        uid=memory.uid,
        kind=memory.kind,
        project=memory.project,
        valid_from=memory.valid_from,
        text=shown,
        doubt=hit.doubt,
    )
    return Item(memory, shown, entry, round(hit.score, 4), round(hit.relevance, 4), hit.why, hit.doubt)


def _folded(items: Iterator[Item], limit: int) -> list[Item]:
    """The first `limit` items; of those that say the same in the same words only the newest."""
    kept: dict[tuple[str, ...], Item] = {}
    for item in items:
        words = content_words(item.excerpt) or (item.memory.uid,)
        twin = kept.get(words)
        if twin is None and len(kept) == limit:
            break
        if twin is None or item.memory.valid_from > twin.memory.valid_from:
            kept[words] = item
    return list(kept.values())


def _fitting(items: Sequence[Item], budget: int) -> tuple[list[Item], int]:
    """Whole entries within the budget, best first, and how many did not fit."""
    left = room(budget)
    fitting = []
    for item in items:
        size = width(item.entry.line)
        if size <= left:
            fitting.append(item)
            left -= size
    return fitting, len(items) - len(fitting)
