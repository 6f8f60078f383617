"""What agent programs themselves say about their configuration, where they are installed. Nothing is ever written."""

import json
import os
import selectors
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from memsite.doctor.finding import Finding, fail, ok, warn
from memsite.install import ours
from memsite.install.harnesses import Harness
from memsite.install.places import Places

SECONDS = 10.0


def asked(harness: Harness, places: Places, cwd: Path) -> Iterator[Finding]:
    """What the program says, if it can be asked."""
    if harness.name == "codex":
        yield from codex(places, cwd)
    elif harness.name == "kimi":
        yield from kimi(places)


def codex(places: Places, cwd: Path) -> Iterator[Finding]:
    """Codex skips hooks that were not trusted, without a word."""
    program = places.program("codex")
    if program is None:
        yield warn("Codex: not in the PATH, so its trust in the hooks cannot be seen", "run /hooks in Codex once")
        return
    answer = _ask(program, cwd)
    if answer is None:
        yield warn("Codex: does not say whether it trusts the hooks", "run /hooks in Codex once")
        return
    hooks = [one for entry in answer.get("data", ()) for one in entry.get("hooks", ())]
    mine = [one for one in hooks if ours.is_hook(one.get("command"))]
    skipped = [one for one in mine if one.get("trustStatus") not in ("trusted", "managed") or not one.get("enabled")]
    if skipped:
        yield fail(f"Codex: {len(skipped)} of {len(mine)} hooks are not trusted and are skipped", "run /hooks in Codex")
    elif mine:
        yield ok(f"Codex: trusts all {len(mine)} hooks")


def kimi(places: Places) -> Iterator[Finding]:
    """One unknown key makes Kimi ignore its whole configuration."""
    program = places.program("kimi")
    if program is None:
        return
    try:
        done = subprocess.run([program, "doctor"], capture_output=True, timeout=SECONDS, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return
    if done.returncode:
        yield fail(
            "Kimi Code: `kimi doctor` finds its configuration invalid", "run `kimi doctor` and mend what it names"
        )
    else:
        yield ok("Kimi Code: `kimi doctor` finds its configuration valid")


def _ask(program: str, cwd: Path) -> Any:
    """The answer to hooks/list of the app server; None if there is none in time."""
    requests = [
        {"id": 1, "method": "initialize", "params": {"clientInfo": {"name": "memory-mcp", "version": "0"}}},
        {"method": "initialized"},
        {"id": 2, "method": "hooks/list", "params": {"cwds": [str(cwd)]}},
    ]
    try:
        process = subprocess.Popen(  # noqa: S603 - the user's own Codex
            [program, "app-server"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
    except OSError:
        return None
    with process:
        try:
            assert process.stdin
            process.stdin.write("".join(json.dumps(one) + "\n" for one in requests).encode())
            process.stdin.flush()
            return next((one.get("result") for one in _lines(process) if one.get("id") == 2), None)
        except OSError:
            return None
        finally:
            process.kill()


def _lines(process: subprocess.Popen[bytes]) -> Iterator[Any]:
    assert process.stdout
    deadline = time.monotonic() + SECONDS
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        pending = b""
        while (left := deadline - time.monotonic()) > 0 and selector.select(left):
            piece = os.read(process.stdout.fileno(), 1 << 16)
            if not piece:
                return
            *whole, pending = (pending + piece).split(b"\n")
            for line in whole:
                with suppress(ValueError):
                    yield json.loads(line)
