"""How well contradictions are found without a language model, on the labelled pairs of the coding-agent set.

    python benchmarks/conflicts.py --data DIR [--model FILE.gguf]

Every memory is stored in the order of its date; a pair counts as found when it is pending afterwards. The rules were
chosen on three of the six projects (atoll-platform, brisa-node, kelpmarket); the other three are the result.
"""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Collection
from pathlib import Path
from typing import Any

from datasets import OpenSet, load_open
from tables import table

FITTED = frozenset({"atoll-platform", "brisa-node", "kelpmarket"})

type Labels = dict[tuple[str, str], bool]


def labelled(path: Path) -> Labels:
    """Pairs of note ids, and whether the two contradict each other."""
    pairs = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return {(pair.get("old") or pair["a"], pair.get("new") or pair["b"]): "old" in pair for pair in pairs}


def prepare(model: Path | None) -> None:
    os.environ |= {"MEMORY_DB_PATH": str(Path(tempfile.mkdtemp()) / "memory.db")}
    os.environ["DJANGO_SETTINGS_MODULE"] = "memsite.settings"
    if model:
        os.environ["MEMORY_MODEL_PATH"] = str(model)
    import django  # noqa: PLC0415 - after the settings are chosen

    django.setup()
    from memories import embedders  # noqa: PLC0415
    from memsite.store import prepare_store  # noqa: PLC0415

    prepare_store()
    embedder = embedders.current()
    if embedder:
        embedder.documents(["probe"], patience=300)


def queue(found: OpenSet) -> tuple[set[frozenset[str]], set[str]]:
    """The pairs that wait for a decision once everything is stored, and what was invalidated."""
    from memories.models import Conflict, Memory  # noqa: PLC0415
    from memories.remember import Draft, remember  # noqa: PLC0415

    notes = {}
    for note in sorted(found.notes, key=lambda note: str(note.body.get("valid_from"))):
        body: Any = note.body
        notes[remember(Draft(**body)).uid] = note.id
    pending = Conflict.objects.filter(verdict="pending").values_list("older__uid", "newer__uid")
    ended = {notes[uid] for uid in Memory.objects.superseded().values_list("uid", flat=True)}
    return {frozenset((notes[older], notes[newer])) for older, newer in pending}, ended


def figures(labels: Labels, queued: set[frozenset[str]], stored: int, projects: Collection[str]) -> list[str]:
    true = [frozenset(pair) for pair, is_true in labels.items() if is_true]
    false = [frozenset(pair) for pair, is_true in labels.items() if not is_true]
    hits, alarms = sum(pair in queued for pair in true), sum(pair in queued for pair in false)
    precision = f"{hits / (hits + alarms):.2f}" if hits + alarms else "-"
    return [
        ", ".join(sorted(projects)),
        f"{hits} of {len(true)} ({hits / max(1, len(true)):.2f})",
        f"{alarms} of {len(false)}",
        precision,
        f"{100 * len(queued) / stored:.1f}",
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model", type=Path)
    options = parser.parse_args()
    if not (options.data / "open").is_dir():
        print(f"skipped: {options.data / 'open'} is absent")
        return 0
    prepare(options.model)
    found = load_open(options.data / "open")
    labels = labelled(options.data / "open" / "conflicts.jsonl")
    place = {note.id: note.project for note in found.notes}
    queued, ended = queue(found)
    others = frozenset(place.values()) - FITTED
    rows = []
    for projects in (FITTED, others, FITTED | others):
        within = {pair: is_true for pair, is_true in labels.items() if place[pair[0]] in projects}
        some = {pair for pair in queued if place[next(iter(pair))] in projects}
        rows.append(figures(within, some, sum(one in projects for one in place.values()), projects))
    print(table(["projects", "contradictions found", "compatible queued", "precision", "queued per 100"], rows))
    print(f"\ninvalidated without a judge: {len(ended)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
