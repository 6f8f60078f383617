"""How long recall takes with many vectors in memory, embedding excluded, beside the least that it must do.

    python benchmarks/vector_latency.py [--memories 50000] [--dimension 1024] [--queries 200]

Random unit vectors, one a memory. The service asks a stub in this process for embeddings, each query once before it is
timed, so that its cache answers. `raw` is the keyword query of latency.py plus one numpy product of the same matrix.
`after a write` is the first recall after another process stored a memory: it reads that memory, not the store.
"""

import argparse
import json
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import numpy.typing as npt
from latency import Raw, fill_direct, selected_terms
from service import Client, rss_mb, running, temporary_database
from tables import mark, table
from texts import Query, queries, texts

MODEL = "stub"
WRITES = 20
FACTOR = 2.0


@contextmanager
def stub(dimension: int) -> Iterator[str]:
    """An OpenAI-compatible server whose vectors are random; gives its URL."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["input"]
            rng = np.random.default_rng()
            rows = [
                {"index": number, "embedding": rng.normal(size=dimension).round(4).tolist(), "object": "embedding"}
                for number in range(len(asked))
            ]
            answer = {"object": "list", "data": rows, "model": MODEL, "usage": {"prompt_tokens": 0, "total_tokens": 0}}
            body = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()


def add_vectors(database: Path, dimension: int) -> npt.NDArray[np.float32]:
    """A random unit vector for each memory; gives them all."""
    connection = sqlite3.connect(database)
    rows = connection.execute("SELECT id, content_hash, length(content) FROM memories_memory").fetchall()
    matrix = np.random.default_rng(1).normal(size=(len(rows), dimension)).astype(np.float32)
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    connection.executemany(
        'INSERT INTO memories_passage (memory_id, position, start, "end", vector, model, text_hash)'
        " VALUES (?, 0, 0, ?, ?, ?, ?)",
        (
            (one, length, vector.tobytes(), f"{MODEL}:{dimension}", text_hash)
            for (one, text_hash, length), vector in zip(rows, matrix, strict=True)
        ),
    )
    connection.commit()
    connection.close()
    return matrix


def milliseconds(client: Client, query: Query) -> float:
    began = time.perf_counter()
    client.post("/recall", {"query": query.text, "project": query.project, "mode": "search"})
    return 1000 * (time.perf_counter() - began)


def measure(
    url: str, database: Path, matrix: npt.NDArray[np.float32], asked: Sequence[Query]
) -> dict[str, list[float]]:
    raw = Raw(database)
    direction = matrix[0]
    found: dict[str, list[float]] = {"raw keywords": [], "one product": [], "recall": []}
    with Client(url) as client:
        for query in asked:
            milliseconds(client, query)
        for query in asked:
            began = time.perf_counter()
            raw(selected_terms(query.text), query.project)
            between = time.perf_counter()
            matrix @ direction
            found["one product"].append(1000 * (time.perf_counter() - between))
            found["raw keywords"].append(1000 * (between - began))
            found["recall"].append(milliseconds(client, query))
    raw.close()
    return found


def after_writes(url: str, other: str, asked: Sequence[Query]) -> list[float]:
    """The first recall after each of some memories that another service on the same file stored."""
    found = []
    with Client(url) as client, Client(other) as writer:
        for number, query in enumerate(asked[:WRITES]):
            writer.post("/ingest", {"content": f"Written elsewhere, number {number}.", "project": query.project})
            found.append(milliseconds(client, query))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memories", type=int, default=50_000)
    parser.add_argument("--dimension", type=int, default=1024)
    parser.add_argument("--queries", type=int, default=200)
    options = parser.parse_args()
    stored = list(islice(texts(), options.memories))
    asked = queries(stored, options.queries)
    with temporary_database() as database, stub(options.dimension) as url:
        with running(database):
            pass
        fill_direct(database, stored)
        matrix = add_vectors(database, options.dimension)
        settings = {"MEMORY_EMBED_URL": url, "MEMORY_EMBED_MODEL": MODEL, "MEMORY_DEDUP_SIM": "0"}
        with running(database, settings=settings) as service:
            found = measure(service.url, database, matrix, asked)
            memory = rss_mb(service.pid)
            with running(database, settings=settings | {"MEMORY_DISCOVERY_FILE": "off"}) as other:
                found["after a write"] = after_writes(service.url, other.url, asked)
    rows = [[name, f"{median(times):.2f}", f"{np.percentile(times, 95):.2f}"] for name, times in found.items()]
    least = median(found["raw keywords"]) + median(found["one product"])
    ratio = median(found["recall"]) / least
    print(f"{options.memories:,} memories of {options.dimension} dimensions, milliseconds\n")
    print(table(["what", "p50", "p95"], rows))
    print(f"\nrecall / (raw + product) = {ratio:.2f}, target <= {FACTOR}: {mark(ratio <= FACTOR)}")
    print(f"resident memory {memory:.0f} MB, of which the vectors {matrix.nbytes / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
