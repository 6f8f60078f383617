"""What a hook costs the prompt that waits for it.

    python benchmarks/hook_latency.py [--memories 2000] [--rounds 40]

From the start of hook.py to its end: with a service that answers (a block each time, as each prompt is of another
session), with none, with one that never answers, and below a service that a hook started; beside them in the same
rounds an interpreter that does nothing, and the service's own time for the same request over a kept connection.
"""

import argparse
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from itertools import count, islice
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from latency import fill_direct
from service import Client, environment, running, temporary_database
from tables import mark, table
from texts import texts

from memsite import hook

PYTHON = [sys.executable, "-I", "-S"]
FACT = "The deploy key of the payment gateway rotates on Tuesdays."
UP_MS, DOWN_MS, HANGING_MS = 50.0, 30.0, 1500.0
numbers = count()


def event() -> dict[str, str]:
    prompt = "when does the deploy key of the payment gateway rotate?"
    return {"session_id": f"s{next(numbers)}", "cwd": "/", "prompt": prompt}


def milliseconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000


def run_hook(env: Mapping[str, str], *, speaks: bool) -> None:
    command = [*PYTHON, hook.__file__, "claude", "UserPromptSubmit"]
    done = subprocess.run(command, input=json.dumps(event()).encode(), env=env, capture_output=True, check=True)
    if bool(done.stdout) is not speaks:
        raise SystemExit(f"The hook said {done.stdout!r}.")


def measure(url: str, env: dict[str, str], client: Client, rounds: int) -> dict[str, list[float]]:
    """Milliseconds of each side, taken in turn."""
    with socket.create_server(("127.0.0.1", 0), backlog=512) as silent, socket.create_server(("127.0.0.1", 0)) as gone:
        addresses = [f"http://127.0.0.1:{one.getsockname()[1]}" for one in (silent, gone)]
        gone.close()
        hanging, down = ({**env, "MEMORY_PLUGIN_URL": address} for address in addresses)
        up = {**env, "MEMORY_PLUGIN_URL": url}
        sides: dict[str, Callable[[], object]] = {
            "python -c pass": lambda: subprocess.run([*PYTHON, "-c", "pass"], env=env, check=True),
            "the service's own time": lambda: client.post("/hook/claude?event=UserPromptSubmit", event()),
            "hook, service up": lambda: run_hook(up, speaks=True),
            "hook, service down": lambda: run_hook(down, speaks=False),
            "hook, below our service": lambda: run_hook({**down, "MEMORY_HOOK_ACTIVE": "1"}, speaks=False),
        }
        found: dict[str, list[float]] = {name: [] for name in sides}
        for _ in range(rounds):
            for name, side in sides.items():
                found[name].append(milliseconds(side))
        waits = [milliseconds(lambda: run_hook(hanging, speaks=False)) for _ in range(min(rounds, 5))]
        return {**found, "hook, service hanging": waits}


def rows(found: dict[str, list[float]]) -> list[list[str]]:
    own = median(found["the service's own time"])
    targets = {"hook, service up": UP_MS + own, "hook, service down": DOWN_MS, "hook, service hanging": HANGING_MS}
    lines = []
    for name, times in found.items():
        middle, most = median(times), targets.get(name)
        verdict = ["", ""] if most is None else [f"<= {most:.1f}", mark(middle <= most)]
        lines.append([name, f"{middle:.1f}", f"{sorted(times)[int(len(times) * 0.95)]:.1f}", *verdict])
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memories", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=40)
    options = parser.parse_args()
    with temporary_database() as database, TemporaryDirectory() as home:
        with running(database):
            pass
        fill_direct(database, list(islice(texts(), options.memories)))
        env = environment(database, home=Path(home))
        with running(database) as service, service.client() as client:
            client.post("/ingest", {"content": FACT})
            found = measure(service.url, env, client, options.rounds)
    print(f"{options.memories:,} memories, {options.rounds} rounds, load {os.getloadavg()[0]:.2f}, milliseconds\n")
    print(table(["what", "p50", "p95", "target", ""], rows(found)))


if __name__ == "__main__":
    main()
