"""What the gate of inject mode lets through, at every height, over HTTP on the coding-agent set.

    python benchmarks/gate.py --data DIR [--env MEMORY_MODEL_PATH=model.gguf ...]

One service without a gate answers everything; each height is then applied to what it answered. Intervals are 95 %:
Wilson's for shares, bootstrap over questions for recall.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from datasets import Question, load_open
from recall_measure import INJECT_LIMIT, LIMIT, ingest
from scoring import bootstrap, mean, recall_at, wilson
from service import Client, parse_settings, running, temporary_database
from tables import table

DEFAULT = 0.55
ROOM = 1_000_000


@dataclass(frozen=True)
class Answer:
    """What passes an open gate, best first: uid and relevance."""

    group: str
    gold: Sequence[str]
    found: Sequence[tuple[str, float]]

    def shown(self, gate: float) -> list[str]:
        return [uid for uid, relevance in self.found if relevance >= gate][:INJECT_LIMIT]


def ask(client: Client, question: Question, gold: Sequence[str]) -> Answer:
    body = {"query": question.query, "project": question.project, "limit": LIMIT, "budget_chars": ROOM}
    found = client.post("/recall", body)["memories"]
    return Answer(question.group, gold, [(one["uid"], one["relevance"]) for one in found])


def curve(asked: Sequence[Answer], offtopic: Sequence[Answer]) -> str:
    rows = []
    for gate in np.arange(0.3, 0.805, 0.05):
        noisy = sum(bool(one.shown(gate)) for one in offtopic)
        found = [recall_at(INJECT_LIMIT, one.shown(gate), one.gold) for one in asked]
        silent = sum(not one.shown(gate) for one in asked)
        rows.append(
            [
                f"{gate:.2f}{' (default)' if abs(gate - DEFAULT) < 0.01 else ''}",
                f"{100 * noisy / len(offtopic):.1f}",
                _span(wilson(noisy, len(offtopic))),
                f"{100 * mean(found):.1f}",
                _span(bootstrap(found)),
                f"{100 * silent / len(asked):.1f}",
            ]
        )
    head = ["gate", "off-topic with any, %", "95 %", "recall@5", "95 %", "true queries silenced, %"]
    return table(head, rows)


def by_type(asked: Sequence[Answer]) -> str:
    rows = []
    for group in sorted({one.group for one in asked}):
        some = [one for one in asked if one.group == group]
        silent = sum(not one.shown(DEFAULT) for one in some)
        found = mean([recall_at(INJECT_LIMIT, one.shown(DEFAULT), one.gold) for one in some])
        silenced = f"{100 * silent / len(some):.1f}"
        rows.append([group, str(len(some)), f"{100 * found:.1f}", silenced, _span(wilson(silent, len(some)))])
    return table(["type", "n", "recall@5", "silenced, %", "95 %"], rows)


def _span(interval: tuple[float, float]) -> str:
    return f"{100 * interval[0]:.1f} to {100 * interval[1]:.1f}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--env", action="append", default=[], metavar="NAME=VALUE", help="a setting of the service")
    options = parser.parse_args()
    if not (options.data / "open").is_dir():
        print(f"skipped: {options.data / 'open'} is absent")
        return 0
    data = load_open(options.data / "open")
    settings = {**parse_settings(options.env), "MEMORY_INJECT_MIN_RELEVANCE": "0"}
    with temporary_database() as database, running(database, settings=settings) as service:
        ingested = ingest(service, [data.notes])
        with service.client() as client:
            asked = [ask(client, question, ingested.keys(question.gold)) for question in data.questions]
            offtopic = [ask(client, question, []) for question in data.offtopic]
    print(curve(asked, offtopic))
    print(f"\nAt the default, by type:\n\n{by_type(asked)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
