"""How well contradictions are found without a language model, on labelled pairs of memories.

    python benchmarks/conflicts.py [--data DIR] [--model FILE.gguf]

Every memory is stored in the order of its date; a pair counts as found when it is pending afterwards. With --data it is
the coding-agent set, else the texts beside this file. The rules were chosen on half of the projects of each (FITTED);
the other half is the result.
"""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Collection, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from datasets import Note, load_open
from tables import table

FITTED = frozenset({"atoll-platform", "brisa-node", "kelpmarket"}) | frozenset(
    {"harbor-api", "otter-shop", "pebble-ml", "quillnote", "tarn-infra"}
)
OWN = Path(__file__).with_name("contradictions.jsonl")
FIRST_DAY = datetime(2026, 1, 1, tzinfo=UTC)

type Labels = dict[tuple[str, str], bool]
type Row = dict[str, Any]


def labelled(rows: Iterable[Row]) -> Labels:
    """Pairs of note ids, and whether the two contradict each other."""
    return {(row.get("old") or row["a"], row.get("new") or row["b"]): "old" in row for row in rows}


def load(data: Path | None) -> tuple[list[Note], Labels]:
    if data:
        return load_open(data / "open").notes, labelled(lines(data / "open" / "conflicts.jsonl"))
    rows = list(lines(OWN))
    told = [row for row in rows if "content" in row]
    return [own_note(row, place) for place, row in enumerate(told)], labelled(
        row for row in rows if "content" not in row
    )


def own_note(row: Row, place: int) -> Note:
    dated = {"valid_from": f"{FIRST_DAY + timedelta(minutes=place):%Y-%m-%dT%H:%M:%SZ}"}
    return Note(row["id"], row["project"], {name: row[name] for name in ("content", "project", "kind")} | dated)


def lines(path: Path) -> Iterator[Row]:
    return map(json.loads, path.read_text(encoding="utf-8").splitlines())


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


def queue(written: list[Note]) -> tuple[set[frozenset[str]], set[str]]:
    """The pairs that wait for a decision once everything is stored, and what was invalidated."""
    from memories.models import Conflict, Memory  # noqa: PLC0415
    from memories.remember import Draft, remember  # noqa: PLC0415

    notes = {}
    for note in sorted(written, key=lambda note: str(note.body.get("valid_from"))):
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
        f"{100 * len(queued) / max(1, stored):.1f}",
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--model", type=Path)
    options = parser.parse_args()
    if options.data and not (options.data / "open").is_dir():
        print(f"skipped: {options.data / 'open'} is absent")
        return 0
    prepare(options.model)
    notes, labels = load(options.data)
    place = {note.id: note.project for note in notes}
    queued, ended = queue(notes)
    fitted, others = frozenset(place.values()) & FITTED, frozenset(place.values()) - FITTED
    rows = []
    for projects in (fitted, others, fitted | others):
        within = {pair: is_true for pair, is_true in labels.items() if place[pair[0]] in projects}
        some = {pair for pair in queued if place[next(iter(pair))] in projects}
        rows.append(figures(within, some, sum(one in projects for one in place.values()), projects))
    print(table(["projects", "contradictions found", "compatible queued", "precision", "queued per 100"], rows))
    print(f"\ninvalidated without a judge: {len(ended)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
