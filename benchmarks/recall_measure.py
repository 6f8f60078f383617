"""Fill a fresh service with an evaluation set, ask it everything, restart it, ask a sample again."""

import contextlib
import random
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from baseline import Baseline
from datasets import Conversation, Note, OpenSet, Question
from scoring import distinct
from service import Client, Service, running, temporary_database

LIMIT = 50
INJECT_LIMIT = 5
CLIENTS = 4
RESTART_SAMPLE = 100
SEED = 20261130


@dataclass
class Ingested:
    """Which memory each note became, and what the answers said."""

    uids: dict[str, str] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0

    def add(self, note: Note, answer: Mapping[str, Any]) -> None:
        self.counts[f"status {answer['status']}"] += 1
        self.counts[f"vector {answer.get('vector')}"] += 1
        self.counts["conflicts"] += len(answer.get("conflicts") or ())
        self.counts["redacted"] += bool(answer.get("redacted"))
        if answer.get("uid"):
            self.uids[note.id] = answer["uid"]

    def key(self, note: str) -> str:
        """What a note is compared by: its memory; a skipped note counts as never found."""
        return self.uids.get(note, f"skipped:{note}")

    def keys(self, notes: Iterable[str]) -> list[str]:
        """Notes that became one memory count once."""
        return distinct([self.key(note) for note in notes])

    def notes(self) -> dict[str, list[str]]:
        by_uid: dict[str, list[str]] = {}
        for note, uid in self.uids.items():
            by_uid.setdefault(uid, []).append(note)
        return by_uid


@dataclass(frozen=True)
class Asked:
    """One question and what each side answered, as uids."""

    question: Question
    gold: list[str]
    search: list[str]
    inject: list[str]
    plain: list[str]

    @property
    def plain_inject(self) -> list[str]:
        """Plain FTS5 knows no relevance: it injects its best hits, whatever they are."""
        return self.plain[:INJECT_LIMIT]


def ingest(service: Service, series: Sequence[Sequence[Note]]) -> Ingested:
    """Store every series in its order, several series at once."""
    ingested = Ingested()
    started = time.monotonic()
    with ThreadPoolExecutor(CLIENTS) as pool:
        for notes, answers in zip(series, pool.map(lambda notes: _store(service, notes), series), strict=True):
            for note, answer in zip(notes, answers, strict=True):
                ingested.add(note, answer)
    ingested.seconds = time.monotonic() - started
    return ingested


def _store(service: Service, notes: Sequence[Note]) -> list[dict[str, Any]]:
    with service.client() as client:
        return [client.post("/ingest", note.body) for note in notes]


def search(client: Client, question: Question) -> list[dict[str, Any]]:
    body = {"query": question.query, "mode": "search", "project": question.project, "limit": LIMIT}
    return list(client.post("/recall", body)["memories"])


def inject(client: Client, question: Question) -> list[dict[str, Any]]:
    body = {"query": question.query, "mode": "inject", "project": question.project, "limit": INJECT_LIMIT}
    return list(client.post("/recall", body)["memories"])


def uids(memories: Iterable[Mapping[str, Any]]) -> list[str]:
    return distinct([memory["uid"] for memory in memories])


def plain_fts5(notes: Iterable[Note]) -> Baseline:
    baseline = Baseline()
    for note in notes:
        baseline.add(note.id, note.project, note.content)
    return baseline


def ask(client: Client, questions: Sequence[Question], ingested: Ingested, plain: Baseline) -> list[Asked]:
    return [
        Asked(
            question=question,
            gold=ingested.keys(question.gold),
            search=uids(search(client, question)),
            inject=uids(inject(client, question)),
            plain=ingested.keys(plain.search(question.query, question.project, LIMIT)),
        )
        for question in questions
    ]


def restart_sample(questions: Sequence[Question]) -> list[Question]:
    return random.Random(SEED).sample(list(questions), min(RESTART_SAMPLE, len(questions)))


def ask_again(service: Service, questions: Sequence[Question]) -> list[list[tuple[str, float]]]:
    with service.client() as client:
        return [
            [(memory["uid"], float(memory.get("score") or 0.0)) for memory in search(client, question)]
            for question in questions
        ]


def compare_answers(
    one: Sequence[Sequence[tuple[str, float]]], other: Sequence[Sequence[tuple[str, float]]]
) -> dict[str, Any]:
    """How many of the answers name the same memories in the same order, and how far their scores differ."""
    pairs = [(a, b) for a, b in zip(one, other, strict=True) if [u for u, _ in a] == [u for u, _ in b]]
    gaps = [abs(x - y) for a, b in pairs for (_, x), (_, y) in zip(a, b, strict=True)]
    return {"asked": len(one), "identical": len(pairs), "largest_score_difference": max(gaps, default=0.0)}


@dataclass(frozen=True)
class Run:
    """Everything one set brought to light."""

    ingested: Ingested
    asked: list[Asked]
    health: dict[str, Any]
    restart: dict[str, Any]
    unchanged: dict[str, Any]
    """The same sample asked twice without a restart: what a restart is to be compared with."""


def measure(series: Sequence[Sequence[Note]], questions: Sequence[Question], settings: Mapping[str, str]) -> Run:
    """Fill a fresh service, ask everything, restart it on the same file, ask a sample again."""
    sample = restart_sample([question for question in questions if question.gold])
    with temporary_database() as database:
        with running(database, settings=settings) as service:
            ingested = ingest(service, series)
            plain = plain_fts5(note for notes in series for note in notes)
            with contextlib.closing(plain), service.client() as client:
                health = client.get("/health")
                asked = ask(client, questions, ingested, plain)
            first, second = ask_again(service, sample), ask_again(service, sample)
        with running(database, settings=settings) as service:
            third = ask_again(service, sample)
    return Run(ingested, asked, health, compare_answers(second, third), compare_answers(first, second))


def measure_locomo(conversations: Sequence[Conversation], settings: Mapping[str, str]) -> Run:
    questions = [question for conversation in conversations for question in conversation.questions]
    return measure([conversation.notes for conversation in conversations], questions, settings)


def measure_open(data: OpenSet, settings: Mapping[str, str]) -> Run:
    return measure([data.notes], [*data.questions, *data.offtopic], settings)
