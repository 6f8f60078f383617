"""How long an agent program waits for the first answer of `memory-mcp --stdio`.

    python benchmarks/cold_start.py [--memories 50000] [--rounds 7]

From the start of the process to the answer of `initialize`: through a live service, and alone; beside them the same
for the smallest server that the MCP SDK can make, in the same rounds, and the time until the service itself listens.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from latency import fill_direct
from service import COMMAND, environment, running, temporary_database
from tables import table
from texts import texts

TARGET_SECONDS = 1.0
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}},
}
SMALLEST = "from mcp.server.mcpserver import MCPServer; MCPServer('smallest').run('stdio')"


def seconds_to_answer(command: Sequence[str], env: dict[str, str], cwd: Path) -> float:
    """From the start of a stdio server to its answer of `initialize`."""
    began = time.perf_counter()
    process = subprocess.Popen(
        command, env=env, cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert process.stdin
    assert process.stdout
    process.stdin.write(json.dumps(INITIALIZE).encode() + b"\n")
    process.stdin.flush()
    answer = json.loads(process.stdout.readline())
    took = time.perf_counter() - began
    process.communicate()
    if "result" not in answer:
        raise SystemExit(f"initialize was refused: {answer}")
    return took


def measure(database: Path, home: Path, rounds: int) -> dict[str, list[float]]:
    """Seconds of each side, taken in turn."""
    env = environment(database, home=home)
    stdio = [*COMMAND, "--stdio"]
    sides: dict[str, Callable[[], float]] = {
        "smallest SDK server": lambda: seconds_to_answer([sys.executable, "-c", SMALLEST], env, home),
        "alone": lambda: seconds_to_answer(stdio, env, home),
    }
    found: dict[str, list[float]] = {name: [] for name in ("service listens", "through the service", *sides)}
    for _ in range(rounds):
        for name, side in sides.items():
            found[name].append(side())
        began = time.perf_counter()
        with running(database):
            found["service listens"].append(time.perf_counter() - began)
            found["through the service"].append(seconds_to_answer(stdio, env, home))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memories", type=int, default=50_000)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    with temporary_database() as database, TemporaryDirectory() as home:
        with running(database):
            pass  # migrates, and compiles what is imported
        fill_direct(database, list(islice(texts(), options.memories)))
        found = measure(database, Path(home), options.rounds)
    rows = [
        [name, f"{min(times):.2f}", f"{median(times):.2f}", f"{max(times):.2f}", _target(name)]
        for name, times in found.items()
    ]
    print(f"{options.memories:,} memories, {options.rounds} rounds, seconds\n")
    print(table(["start", "min", "median", "max", "target"], rows))


def _target(name: str) -> str:
    return f"<= {TARGET_SECONDS}" if name in ("alone", "through the service") else ""


if __name__ == "__main__":
    main()
