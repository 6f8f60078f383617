"""How long it takes to consolidate many memories of one project, without a model in the loop.

    python benchmarks/consolidation.py [--memories 10000] [--dimension 1024] [--like 4]

Of the memories every `--like` are variants of one text: a few words exchanged for others; the rest are texts of their
own. Once by words alone, once with a vector for each memory: a random direction, near to one another for variants,
and a stand-in for the model that answers at once. The
time is that of the command as a process of its own, its start included, by the clock and of the processors (which other
work on the machine does not lengthen). It is run once more: nothing changes then.
"""

import argparse
import json
import random
import re
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from service import environment, running, temporary_database
from tables import mark, table
from texts import SEED, Text, invented_words, texts

MODEL = "random"
PROJECT = "bench/one"
SHARE_OF_VARIANTS = 0.5
EXCHANGED = 0.08
NEARNESS = 0.95
OTHER_WORDS = [f"{word}ish" for word in invented_words(2000)[500:]]
TARGET_SECONDS = 60.0
FILL = """
import json, sys
import django
django.setup()
from memories import clock
from memories.draft import Draft, prepare
from memories.models import Memory
rows = [json.loads(line) for line in open(sys.argv[1], encoding="utf-8")]
Memory.objects.bulk_create((prepare(Draft(**row), now=clock.now()).memory for row in rows), batch_size=500)
"""
RUN = """
import os, sys
os.environ["DJANGO_SETTINGS_MODULE"] = "memsite.settings"
import django
django.setup()
import numpy as np
from memories import embedders
from memories.embedders.base import normalised
from memories.embedders.profiles import UNKNOWN
class Random:
    name, profile, state, device = sys.argv[1], UNKNOWN, "ready", None
    dimension = int(sys.argv[2])
    identity = f"{name}:{dimension}"
    rng = np.random.default_rng(2)
    def documents(self, texts, *, patience):
        return normalised(self.rng.normal(size=(len(texts), self.dimension)), expected=len(texts))
if Random.dimension:
    random = Random()
    embedders.current = lambda: random
from memsite.cli import main
main(["consolidate"])
"""
ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Took:
    name: str
    first: float
    processors: float
    made: int
    joined: int
    again: float
    made_again: int


def stored(count: int, like: int) -> list[list[Text]]:
    """Families of variants, and texts that stand alone, together `count`."""
    rng = random.Random(SEED)
    stream = texts()
    families: list[list[Text]] = []
    left = count
    while left:
        size = like if left / count > 1 - SHARE_OF_VARIANTS else 1
        content = next(stream).content
        families.append([Text(PROJECT, "", _variant(content, rng) if at else content) for at in range(min(size, left))])
        left -= len(families[-1])
    return families


def _variant(content: str, rng: random.Random) -> str:
    words = content.split(" ")
    for at in rng.sample(range(len(words)), max(1, int(EXCHANGED * len(words)))):
        words[at] = rng.choice(OTHER_WORDS) + ("." if words[at].endswith(".") else "")
    return " ".join(words)


def fill(database: Path, families: Sequence[Sequence[Text]]) -> None:
    """Without looking for contradictions among them, which takes longer than all else here."""
    with tempfile.TemporaryDirectory() as folder:
        rows = Path(folder) / "rows.jsonl"
        written = (json.dumps(vars(text)) for family in families for text in family)
        rows.write_text("\n".join(written), encoding="utf-8")
        settings = {"DJANGO_SETTINGS_MODULE": "memsite.settings", "PYTHONPATH": str(ROOT)}
        subprocess.run(
            [sys.executable, "-c", FILL, str(rows)],
            env=environment(database, home=Path(folder), settings=settings),
            check=True,
        )


def add_vectors(database: Path, families: Sequence[Sequence[Text]], dimension: int) -> None:
    """Memories have the order of the families."""
    connection = sqlite3.connect(database)
    rows = connection.execute("SELECT id, content_hash, length(content) FROM memories_memory ORDER BY id").fetchall()
    connection.executemany(
        'INSERT INTO memories_passage (memory_id, position, start, "end", vector, model, text_hash)'
        " VALUES (?, 0, 0, ?, ?, ?, ?)",
        (
            (one, length, vector.tobytes(), f"{MODEL}:{dimension}", text_hash)
            for (one, text_hash, length), vector in zip(rows, _vectors(families, dimension), strict=True)
        ),
    )
    connection.commit()
    connection.close()


def _vectors(families: Sequence[Sequence[Text]], dimension: int) -> Iterator[npt.NDArray[np.float32]]:
    rng = np.random.default_rng(1)
    noise = np.sqrt(1 / NEARNESS - 1)
    for family in families:
        centre = rng.normal(size=dimension)
        for _ in family:
            vector = centre + noise * rng.normal(size=dimension)
            yield (vector / np.linalg.norm(vector)).astype("<f4")


def consolidate(database: Path, dimension: int) -> tuple[float, float, int, int]:
    """Seconds by the clock and of the processors, summaries made, memories that are in them."""
    with tempfile.TemporaryDirectory() as home:
        began, before = time.perf_counter(), _processors()
        done = subprocess.run(
            [sys.executable, "-c", RUN, MODEL, str(dimension)],
            env=environment(database, home=Path(home), settings={"PYTHONPATH": str(ROOT)}),
            capture_output=True,
            text=True,
            check=True,
        )
        seconds, processors = time.perf_counter() - began, _processors() - before
    said = re.search(r"Made ([\d,]+) of ([\d,]+) memories", done.stdout)
    assert said, done.stdout[-2000:]
    made, joined = (int(number.replace(",", "")) for number in said.groups())
    return seconds, processors, made, joined


def _processors() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(name: str, families: Sequence[Sequence[Text]], dimension: int) -> Took:
    with temporary_database() as database:
        with running(database):
            pass
        fill(database, families)
        if dimension:
            add_vectors(database, families, dimension)
        first, processors, made, joined = consolidate(database, dimension)
        again, _, made_again, _ = consolidate(database, dimension)
    return Took(name, first, processors, made, joined, again, made_again)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--dimension", type=int, default=1024)
    parser.add_argument("--like", type=int, default=4)
    options = parser.parse_args()
    families = stored(options.memories, options.like)
    took = [
        measure("words", families, 0),
        measure(f"vectors of {options.dimension}", families, options.dimension),
    ]
    rows = [
        [
            one.name,
            f"{one.first:.1f}",
            f"{one.processors:.1f}",
            f"{one.made:,}",
            f"{one.joined:,}",
            f"{one.again:.1f}",
            f"{one.made_again:,}",
        ]
        for one in took
    ]
    print(f"{options.memories:,} memories of one project; families of {options.like} are half of them\n")
    print(table(["what", "seconds", "of processors", "summaries", "of memories", "once more", "summaries"], rows))
    slowest = max(one.first for one in took)
    print(f"\nslowest {slowest:.1f} s, target <= {TARGET_SECONDS:.0f}: {mark(slowest <= TARGET_SECONDS)}")


if __name__ == "__main__":
    main()
