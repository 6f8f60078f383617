"""How well recall finds what it should and keeps quiet otherwise, over HTTP, beside plain FTS5.

    python benchmarks/recall_quality.py --data DIR [--set locomo|open|both] [--conversations 1-10]
        [--json FILE] [--run-file FILE] [--env MEMORY_MODEL_PATH=model.gguf ...]

DIR holds `locomo10.json` and `open/`. What is absent is skipped with a reason. `--run-file` writes lines for
`score.py` twice: FILE ranks by search, FILE with `.inject` before its suffix lists what is injected.
"""

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import recall_report
from datasets import load_locomo, load_open
from recall_measure import Asked, Run, measure_locomo, measure_open
from service import parse_settings


def run_lines(run: Run, ranked: Callable[[Asked], list[str]]) -> list[str]:
    """Lines for score.py: memories become the notes they came from; off-topic prompts what is injected."""
    notes = run.ingested.notes()
    return [
        json.dumps(
            {
                "id": asked.question.id,
                "ranked": [
                    note for uid in (ranked(asked) if asked.gold else asked.inject) for note in notes.get(uid, [uid])
                ],
            }
        )
        for asked in run.asked
    ]


def write_run_files(path: Path, runs: Sequence[Run]) -> None:
    searched = [line for run in runs for line in run_lines(run, lambda asked: asked.search)]
    injected = [line for run in runs for line in run_lines(run, lambda asked: asked.inject)]
    path.write_text("\n".join(searched) + "\n", encoding="utf-8")
    beside = path.with_name(f"{path.stem}.inject{path.suffix}")
    beside.write_text("\n".join(injected) + "\n", encoding="utf-8")


def numbers(text: str) -> set[int]:
    """`1-3,7` as {1, 2, 3, 7}."""
    ranges = [part.partition("-") for part in text.split(",")]
    return {number for first, _, last in ranges for number in range(int(first), int(last or first) + 1)}


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with locomo10.json and open/")
    parser.add_argument("--set", choices=("locomo", "open", "both"), default="both")
    parser.add_argument("--conversations", type=numbers, default=numbers("1-10"), metavar="1-10")
    parser.add_argument("--json", type=Path, help="write every figure here")
    parser.add_argument("--run-file", type=Path, help="write ranked lists for score.py here")
    parser.add_argument("--env", action="append", default=[], metavar="NAME=VALUE", help="a setting of the service")
    return parser.parse_args(argv)


def present(path: Path) -> bool:
    if not path.exists():
        print(f"skipped: {path} is absent; evaluation data is no part of the repository, --data names its folder")
    return path.exists()


def run_locomo(options: argparse.Namespace, settings: Mapping[str, str]) -> tuple[Run, dict[str, Any]] | None:
    path = options.data / "locomo10.json"
    if options.set == "open" or not present(path):
        return None
    run = measure_locomo(load_locomo(path, options.conversations), settings)
    return run, recall_report.print_locomo(run)


def run_open(options: argparse.Namespace, settings: Mapping[str, str]) -> tuple[Run, dict[str, Any]] | None:
    folder = options.data / "open"
    if options.set == "locomo" or not present(folder):
        return None
    data = load_open(folder)
    run = measure_open(data, settings)
    return run, recall_report.print_open(run, data.replaced)


def main(argv: Sequence[str] | None = None) -> int:
    options = arguments(argv)
    if not present(options.data):
        return 0
    settings = parse_settings(options.env)
    outcomes = {"locomo": run_locomo(options, settings), "open": run_open(options, settings)}
    done = {name: outcome for name, outcome in outcomes.items() if outcome}
    if options.run_file and done:
        write_run_files(options.run_file, [run for run, _ in done.values()])
    if options.json:
        figures = {"settings": settings, **{name: figures for name, (_, figures) in done.items()}}
        options.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
