"""What the cosines of an embedding model mean: the numbers of its profile, from the coding-agent set.

    python benchmarks/calibrate.py --data DIR --model FILE.gguf [--offtopic 0.11]

`unrelated` is the mean cosine of a query and a memory that does not answer it. `related` is put where the default gate
(MEMORY_INJECT_MIN_RELEVANCE) lets something pass for at most the given share of off-topic prompts. `floor` may be as
low as `unrelated`. Copy the two into memories/embedders/profiles.py. Beside them: recall@5 of what passes,
in the sample and with each project left out of the calibration in turn.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from datasets import EVERY_PROJECT, OpenSet, load_open
from tables import table

LIMIT = 5

type Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Asked:
    """One prompt with the memories it may find, best first; `gold` says which of them answer it."""

    project: str
    cosines: Numbers
    words: Numbers
    gold: npt.NDArray[np.bool_]
    answers: int

    def relevance(self, unrelated: float, related: float, weight: float) -> Numbers:
        raised: Numbers = (self.cosines - unrelated) / (related - unrelated) + weight * self.words**2
        return raised

    def found(self, relevance: Numbers, gate: float) -> float:
        shown = np.flatnonzero(relevance >= gate)[:LIMIT]
        return float(self.gold[shown].sum() / self.answers)


def prepare(data: Path, model: Path) -> tuple[list[Asked], list[Asked]]:
    """Prompts with an answer, and off-topic ones, as the product ranks them."""
    os.environ |= {"MEMORY_DB_PATH": str(Path(tempfile.mkdtemp()) / "memory.db"), "MEMORY_MODEL_PATH": str(model)}
    os.environ["DJANGO_SETTINGS_MODULE"] = "memsite.settings"
    import django  # noqa: PLC0415 - after the settings are chosen

    django.setup()
    from memories import embedders  # noqa: PLC0415
    from memories.remember import Draft, remember  # noqa: PLC0415
    from memsite.store import prepare_store  # noqa: PLC0415

    prepare_store()
    embedder = embedders.current()
    assert embedder
    embedder.documents(["probe"], patience=300)
    found: OpenSet = load_open(data / "open")
    uids = {note.id: str(remember(Draft(**note.body)).uid) for note in found.notes}  # type: ignore[arg-type]
    return list(_ask(found.questions, uids)), list(_ask(found.offtopic, uids))


def _ask(questions: Iterable[Any], uids: dict[str, str]) -> Iterable[Asked]:
    from memories import clock, search  # noqa: PLC0415
    from memories.conf import config  # noqa: PLC0415
    from memories.models import Memory  # noqa: PLC0415
    from memories.search import fusion, keyword, meaning  # noqa: PLC0415
    from memories.search.terms import query_terms  # noqa: PLC0415

    names = dict(Memory.objects.values_list("pk", "uid"))
    for question in questions:
        wanted = "*" if question.project == EVERY_PROJECT else question.project
        memories = Memory.objects.in_project(wanted).current(clock.now())
        hits = []
        if query_terms(question.query):
            words = keyword.find(memories, question.query)
            near = meaning.find(memories, question.query, scope=config().scope, places=(), superseded=False)
            found = fusion.fuse(words, near)
            allowed = search.traits(memories, [hit.id for hit in found])
            hits = [hit for hit in found if hit.id in allowed]
        lexical = {hit.id: hit.relevance for hit in words} if hits else {}
        gold = {uids[one] for one in question.gold}
        yield Asked(
            question.project,
            np.array([hit.close.cosine if hit.close else 0.0 for hit in hits]),
            np.array([lexical.get(hit.id, 0.0) for hit in hits]),
            np.array([names[hit.id] in gold for hit in hits], dtype=bool),
            max(1, len(gold)),
        )


def unrelated_of(asked: Sequence[Asked]) -> float:
    return float(np.mean(np.concatenate([one.cosines[~one.gold] for one in asked])))


def related_of(offtopic: Sequence[Asked], unrelated: float, *, share: float, gate: float, weight: float) -> float:
    """The least that lets at most a share of the off-topic prompts pass."""
    for related in np.arange(unrelated + 0.05, 1.5, 0.002):
        passing = [bool((one.relevance(unrelated, related, weight) >= gate).any()) for one in offtopic]
        if np.mean(passing) <= share:
            return float(related)
    return 1.5


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--offtopic", type=float, default=0.11)
    options = parser.parse_args()
    if not (options.data / "open").is_dir():
        print(f"skipped: {options.data / 'open'} is absent")
        return 0
    asked, offtopic = prepare(options.data, options.model)
    from memories.conf import config  # noqa: PLC0415
    from memories.search.fusion import LEXICAL_RELEVANCE as weight  # noqa: N811, PLC0415

    gate = config().inject_min_relevance
    unrelated = unrelated_of(asked)

    def fit(prompts: Sequence[Asked]) -> float:
        return related_of(prompts, unrelated, share=options.offtopic, gate=gate, weight=weight)

    related = fit(offtopic)
    print(f"unrelated={unrelated:.3f} related={related:.3f}\n")
    rows = [["in the sample", *_measured(asked, offtopic, unrelated, related, gate, weight)]]
    outside: list[tuple[Sequence[Asked], Sequence[Asked], float]] = []
    for project in sorted({one.project for one in offtopic}):
        fitted = fit([one for one in offtopic if one.project != project])
        left = ([a for a in asked if a.project == project], [o for o in offtopic if o.project == project], fitted)
        outside.append(left)
        rows.append([f"without {project}", *_measured(*left[:2], unrelated, fitted, gate, weight)])
    print(table(["calibrated", "related", "off-topic with any", "recall@5"], rows))
    passed = [(o.relevance(unrelated, r, weight) >= gate).any() for _, prompts, r in outside for o in prompts]
    found = [a.found(a.relevance(unrelated, r, weight), gate) for some, _, r in outside for a in some]
    print(f"\nleft out in turn: off-topic {100 * np.mean(passed):.1f} %, recall@5 {100 * np.mean(found):.1f}")
    return 0


def _measured(
    asked: Sequence[Asked], offtopic: Sequence[Asked], unrelated: float, related: float, gate: float, weight: float
) -> list[str]:
    passing = np.mean([(one.relevance(unrelated, related, weight) >= gate).any() for one in offtopic])
    found = np.mean([one.found(one.relevance(unrelated, related, weight), gate) for one in asked])
    return [f"{related:.3f}", f"{100 * passing:.1f} %", f"{100 * found:.1f}"]


if __name__ == "__main__":
    sys.exit(main())
