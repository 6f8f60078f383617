"""The evaluation sets as memories and questions."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

EVERY_PROJECT = "*"


@dataclass(frozen=True)
class Note:
    """One memory to store; `body` is what /ingest gets."""

    id: str
    project: str
    body: dict[str, object]

    @property
    def content(self) -> str:
        return str(self.body["content"])


@dataclass(frozen=True)
class Question:
    id: str
    project: str
    query: str
    gold: tuple[str, ...]
    """Ids of notes; empty for an off-topic prompt."""
    group: str
    """Category or type."""
    conversation: int = 0


@dataclass(frozen=True)
class OpenSet:
    notes: list[Note]
    questions: list[Question]
    offtopic: list[Question]
    replaced: dict[str, str]
    """New note -> the one it replaced."""


@dataclass(frozen=True)
class Conversation:
    number: int
    notes: list[Note]
    questions: list[Question]


def load_locomo(path: Path, numbers: set[int]) -> list[Conversation]:
    """LoCoMo: one memory a turn, questions that name evidence which exists."""
    samples = json.loads(path.read_text(encoding="utf-8"))
    return [_conversation(number, sample) for number, sample in enumerate(samples, 1) if number in numbers]


def _conversation(number: int, sample: dict[str, Any]) -> Conversation:
    project = f"locomo-{number}"
    notes = list(_turns(project, sample["conversation"]))
    known = {note.id for note in notes}
    questions = [
        Question(f"{project}:q{index}", project, qa["question"], gold, str(qa["category"]), number)
        for index, qa in enumerate(sample["qa"])
        if (gold := _evidence(project, qa["evidence"], known))
    ]
    return Conversation(number, notes, questions)


def _turns(project: str, conversation: dict[str, Any]) -> Iterator[Note]:
    sessions = sorted(int(key[8:]) for key in conversation if re.fullmatch(r"session_\d+", key))
    for session in sessions:
        date = conversation[f"session_{session}_date_time"]
        for turn in conversation[f"session_{session}"]:
            caption = f" [shares {turn['blip_caption']}]" if turn.get("blip_caption") else ""
            content = f"{turn['speaker']}: {turn['text']}{caption} ({date})"
            body: dict[str, object] = {
                "content": content,
                "kind": "fact",
                "project": project,
                "session": f"{project}-session-{session}",
            }
            yield Note(f"{project}:{turn['dia_id']}", project, body)


def _evidence(project: str, evidence: list[str], known: set[str]) -> tuple[str, ...]:
    """Ids that exist; a few entries of the set join several ids in one string or are misspelt."""
    named = (f"{project}:{found}" for entry in evidence for found in re.findall(r"D\d+:\d+", entry))
    return tuple(dict.fromkeys(identifier for identifier in named if identifier in known))


def load_open(folder: Path) -> OpenSet:
    """The coding-agent set; notes in the order in which they were written."""
    memories = sorted(_lines(folder / "memories.jsonl"), key=lambda row: (row["created_at"], row["id"]))
    return OpenSet(
        notes=[_note(row) for row in memories],
        questions=[_question(row) for row in _lines(folder / "queries.jsonl")],
        offtopic=[
            Question(row["id"], row["project"], row["query"], (), "offtopic")
            for row in _lines(folder / "offtopic.jsonl")
        ],
        replaced={row["new"]: row["old"] for row in _lines(folder / "conflicts.jsonl") if "old" in row},
    )


def _note(row: dict[str, Any]) -> Note:
    names = ("content", "project", "session", "kind", "source", "tags")
    return Note(row["id"], row["project"], {name: row[name] for name in names} | {"valid_from": row["created_at"]})


def _question(row: dict[str, Any]) -> Question:
    project = EVERY_PROJECT if row["type"] == "cross_project" else row["project"]
    return Question(row["id"], project, row["query"], tuple(row["gold"]), row["type"])


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
