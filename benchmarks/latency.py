"""How long recall and ingest take over HTTP, beside plain SQLite in the same run.

    python benchmarks/latency.py [--sizes 1000,10000,50000] [--queries 200] [--json FILE] [--fill http|direct]
        [--rows 500] [--rounds 7] [--env NAME=VALUE ...]

Recall: distinct texts of 200-600 characters in five projects, queries of 3-8 words inside one project, one
kept connection. `raw` is one porter OR query of the same terms in this process on the same file, joined and
filtered on scope, project and state, the best 50. The three are asked in turn for every query, so that drift
hits all alike.
"""

import argparse
import contextlib
import json
import os
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from baseline import or_query
from ingest_rate import PlainSqlite, Sent, batches, copy_database, live_uids, send
from service import (
    Client,
    ServiceFailedError,
    environment,
    parse_settings,
    rss_mb,
    running,
    temporary_database,
)
from tables import mark, table
from texts import SEED, Query, Text, queries, texts

from memories.search.terms import query_terms

ROOT = Path(__file__).resolve().parent.parent
WARM_UP = 20
RECALL_SLACK_MS = 4.0
INGEST_SHARE = 0.25
RSS_MB = 150.0
TARGET_SIZE = 50_000
RAW = """
    SELECT memory.id, memory.uid, memories_fts.rank
    FROM memories_fts CROSS JOIN memories_memory AS memory ON memory.id = memories_fts.rowid
    WHERE memories_fts MATCH ? AND memory.scope = 'default' AND memory.project IN (?, '')
        AND memory.deleted_at IS NULL AND memory.valid_to IS NULL
    ORDER BY memories_fts.rank LIMIT 50
"""

FILL = """
import json, sys
import django
django.setup()
from django.db import transaction
from memories.remember import Draft, remember
rows = [json.loads(line) for line in open(sys.argv[1], encoding="utf-8")]
for start in range(0, len(rows), 1000):
    with transaction.atomic():
        for row in rows[start:start + 1000]:
            remember(Draft(scope="default", source="api", **row))
"""


def fill_direct(db: Path, texts: Sequence[Text]) -> None:
    """Write `texts` by the product's own write function, in another process, 1,000 a transaction."""
    with TemporaryDirectory(prefix="memory-bench-fill-") as folder:
        rows = Path(folder) / "rows.jsonl"
        rows.write_text("".join(json.dumps(vars(text)) + "\n" for text in texts), encoding="utf-8")
        settings = {"DJANGO_SETTINGS_MODULE": "memsite.settings", "PYTHONPATH": str(ROOT)}
        subprocess.run(
            [sys.executable, "-c", FILL, str(rows)],
            env=environment(db, home=Path(folder), settings=settings),
            cwd=folder,
            check=True,
        )


def selected_terms(query: str) -> list[str]:
    """The terms by which the product searches for `query` (it leaves some out of long prompts only)."""
    return [term.text for term in query_terms(query)]


def fill(database: Path, stored: Sequence[Text], options: argparse.Namespace) -> float:
    """Rows a second."""
    with running(database, settings=options.settings) as service:  # makes the tables
        if options.fill == "http":
            return send(service.url, stored, 4).rate
    start = time.monotonic()
    fill_direct(database, stored)
    return len(stored) / (time.monotonic() - start)


class Raw:
    """The least that any keyword recall must do, on a kept connection."""

    def __init__(self, database: Path) -> None:
        self._database = sqlite3.connect(database)

    def close(self) -> None:
        self._database.close()

    def __call__(self, terms: Sequence[str], project: str) -> int:
        return len(self._database.execute(RAW, (or_query(terms), project)).fetchall())


def recall(client: Client, query: Query, mode: str) -> int:
    body = {"query": query.text, "mode": mode, "project": query.project}
    return len(client.post("/recall", body)["memories"])


def time_recall(client: Client, raw: Raw, asked: Sequence[Query]) -> dict[str, dict[str, float]]:
    """Milliseconds by side; whose turn is first changes from query to query."""
    times: dict[str, list[float]] = {"raw": [], "search": [], "inject": []}
    found: Counter[str] = Counter()
    for number, query in enumerate(asked):
        sides = _sides(client, raw, query)
        for offset in range(len(sides)):
            name, call = sides[(number + offset) % len(sides)]
            start = time.perf_counter()
            count = call()
            times[name].append(1000 * (time.perf_counter() - start))
            found[name] += count
    return {
        name: {
            "p50": float(np.percentile(spent, 50)),
            "p95": float(np.percentile(spent, 95)),
            "answers": found[name] / len(asked),
        }
        for name, spent in times.items()
    }


def _sides(client: Client, raw: Raw, query: Query) -> list[tuple[str, Callable[[], int]]]:
    terms = selected_terms(query.text)
    return [
        ("raw", lambda: raw(terms, query.project)),
        ("search", lambda: recall(client, query, "search")),
        ("inject", lambda: recall(client, query, "inject")),
    ]


def measure_size(size: int, options: argparse.Namespace) -> dict[str, Any]:
    stored = list(islice(texts(), size))
    asked = queries(stored, WARM_UP + options.queries)
    with temporary_database() as database:
        fill_rate = fill(database, stored, options)
        rows = len(live_uids(database))
        if rows != size:
            raise ServiceFailedError(f"{size} texts were written, {rows} are live")
        with (
            running(database, settings=options.settings) as service,
            service.client() as client,
            contextlib.closing(Raw(database)) as raw,
        ):
            fresh = rss_mb(service.pid)
            time_recall(client, raw, asked[:WARM_UP])
            times = time_recall(client, raw, asked[WARM_UP:])
            return {
                "size": size,
                "fill_rate": fill_rate,
                **times,
                "rss_fresh_mb": fresh,
                "rss_mb": rss_mb(service.pid),
            }


def measure_ingest(options: argparse.Namespace) -> dict[str, Any]:
    """Plain, one client and four clients in turn, several rounds, each compared with plain of its round."""
    supply = batches(texts(SEED + 1), options.rows)
    rates: dict[str, list[float]] = {"plain": [], "1 client": [], "4 clients": []}
    sent: list[Sent] = []
    with temporary_database() as database:
        with running(database, settings=options.settings):
            pass
        empty = copy_database(database, database.with_name("plain.db"))
        with running(database, settings=options.settings) as service:
            sent.append(send(service.url, next(supply)[:50], 1))  # warm-up, and a row to copy columns from
            with contextlib.closing(PlainSqlite(empty, database)) as plain:
                for _ in range(options.rounds):
                    rates["plain"].append(plain.rate(next(supply)))
                    for clients, name in ((1, "1 client"), (4, "4 clients")):
                        sent.append(send(service.url, next(supply), clients))
                        rates[name].append(sent[-1].rate)
        found = live_uids(database)
    return {"rates": rates, **_ratios(rates), **_losses(sent, found)}


def _ratios(rates: Mapping[str, Sequence[float]]) -> dict[str, Any]:
    shares = {
        name: [own / plain for own, plain in zip(each, rates["plain"], strict=True)] for name, each in rates.items()
    }
    return {
        "rate": {name: median(each) for name, each in rates.items()},
        "ratio": {name: median(each) for name, each in shares.items()},
    }


def _losses(sent: Sequence[Sent], found: set[str]) -> dict[str, Any]:
    acknowledged = frozenset[str]().union(*(each.uids for each in sent))
    statuses = sum((each.statuses for each in sent), Counter[str]())
    return {"statuses": dict(statuses), "acknowledged": len(acknowledged), "lost": len(acknowledged - found)}


def print_recall(measured: Sequence[Mapping[str, Any]]) -> None:
    print("\n## Recall over HTTP, keyword only (ms)\n")
    head = ["memories", "side", "p50", "p95", "p50 - raw", f"target at {TARGET_SIZE:,}", "", "mean answers"]
    print(table(head, [row for figures in measured for row in _recall_rows(figures)]))
    print("\n## Resident memory of the service (MB)\n")
    head = ["memories", "at start", "after the recalls", f"target at {TARGET_SIZE:,}", "", "fill rows/s"]
    print(table(head, [_memory_row(figures) for figures in measured]))


def _recall_rows(figures: Mapping[str, Any]) -> list[list[str]]:
    at_target, raw = figures["size"] == TARGET_SIZE, figures["raw"]["p50"]
    rows = []
    for side in ("raw", "search", "inject"):
        own = figures[side]
        judged = at_target and side != "raw"
        rows.append(
            [
                f"{figures['size']:,}",
                side,
                f"{own['p50']:.2f}",
                f"{own['p95']:.2f}",
                f"{own['p50'] - raw:+.2f}",
                f"<= raw + {RECALL_SLACK_MS:.0f}" if judged else "",
                mark(own["p50"] <= raw + RECALL_SLACK_MS) if judged else "",
                f"{own['answers']:.1f}",
            ]
        )
    return rows


def _memory_row(figures: Mapping[str, Any]) -> list[str]:
    at_target = figures["size"] == TARGET_SIZE
    return [
        f"{figures['size']:,}",
        f"{figures['rss_fresh_mb']:.0f}",
        f"{figures['rss_mb']:.0f}",
        f"<= {RSS_MB:.0f}" if at_target else "",
        mark(figures["rss_mb"] <= RSS_MB) if at_target else "",
        f"{figures['fill_rate']:.0f}",
    ]


def print_ingest(figures: Mapping[str, Any]) -> None:
    print("\n## Ingest over HTTP, keyword only\n")
    rows = []
    for name, rate in figures["rate"].items():
        ratio, judged = figures["ratio"][name], name == "4 clients"
        rounds = ", ".join(f"{each:.0f}" for each in figures["rates"][name])
        target = f">= {INGEST_SHARE}" if judged else ""
        rows.append(
            [
                name,
                f"{rate:.0f}",
                f"{ratio:.2f}",
                target,
                mark(ratio >= INGEST_SHARE) if judged else "",
                rounds,
            ]
        )
    print(table(["writer", "rows/s (median)", "of plain (median)", "target", "", "rounds"], rows))
    print(
        f"\nAcknowledged as created: {figures['acknowledged']}, lost: {figures['lost']} "
        f"({mark(figures['lost'] == 0)}); statuses {figures['statuses']}"
    )


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="1000,10000,50000", help="memories stored, with commas between")
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--json", type=Path, help="write every figure here")
    parser.add_argument("--fill", choices=("http", "direct"), default="direct", help="how the texts get in")
    parser.add_argument("--rows", type=int, default=500, help="texts a writer and round of the ingest part; 0 = none")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--env", action="append", default=[], metavar="NAME=VALUE", help="a setting of the service")
    options = parser.parse_args(argv)
    options.settings = parse_settings(options.env)
    options.sizes = [int(size) for size in options.sizes.split(",") if size]
    return options


def main(argv: Sequence[str] | None = None) -> int:
    options = arguments(argv)
    versions = f"SQLite {sqlite3.sqlite_version}, Python {sys.version.split()[0]}"
    print(f"{versions}, {os.cpu_count()} cores, settings {options.settings}")
    print(f"Load of the machine before: {os.getloadavg()[0]:.2f} (other work spoils the figures)")
    measured = [measure_size(size, options) for size in options.sizes]
    if measured:
        print_recall(measured)
    ingest = measure_ingest(options) if options.rows else None
    if ingest:
        print_ingest(ingest)
    if options.json:
        figures = {"settings": options.settings, "recall": measured, "ingest": ingest}
        options.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
