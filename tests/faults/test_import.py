"""Imports that are killed, that meet, and that are large."""

import json
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.faults.soundness import assert_sound
from tests.service import COMMAND, Home, until

pytestmark = [pytest.mark.server, pytest.mark.usefixtures("settled")]
MEASURED = """
import resource, sys
from memsite.cli import main
try:
    main()
finally:
    sys.stderr.write(f"\\nPEAK {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}\\n")
"""


def archive(path: Path, size: int, *, words: int = 40) -> Path:
    """Memories, every tenth one superseded by the next."""
    with path.open("w", encoding="utf-8") as file:
        file.write('{"format":"memsite","version":1,"holds":"history"}\n')
        for number in range(size):
            fields = {"type": "memory", "uid": f"{number:032x}", "scope": "default", "project": f"acme/p{number % 5}"}
            times = dict.fromkeys(("created_at", "updated_at", "valid_from"), "2026-01-01T00:00:00Z")
            end = (
                {"valid_to": "2026-01-02T00:00:00Z", "superseded_by": f"{number + 1:032x}"} if number % 10 == 0 else {}
            )
            content = f"memory {number} " + " ".join(f"word{number * 7 % 997 + step}" for step in range(words))
            file.write(json.dumps({**fields, **times, **end, "content": content}) + "\n")
    return path


def rows(database: Path) -> tuple[int, int]:
    with closing(sqlite3.connect(database, timeout=20)) as raw:
        found: tuple[int, int] = raw.execute("SELECT count(*), count(superseded_by_id) FROM memories_memory").fetchone()
    return found


def importing(home: Home, file: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*COMMAND, "import", str(file)], env=home.environment(), cwd=home.path, text=True, encoding="utf-8",
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def test_an_import_that_was_killed_is_finished_by_the_next_one(home: Home, tmp_path: Path) -> None:
    file = archive(tmp_path / "a.jsonl", 2000)
    killed = importing(home, file)
    until(lambda: rows(home.database)[0] > 200)
    killed.send_signal(signal.SIGKILL)
    killed.communicate(timeout=20)
    assert 200 < rows(home.database)[0] < 2000
    assert_sound(home.database)

    assert home.run("import", str(file)).returncode == 0

    assert rows(home.database) == (2000, 200)
    assert_sound(home.database)
    again = home.run("import", str(file))
    assert "2,000 unchanged" in again.stdout


def test_two_imports_at_once_keep_everything_once(home: Home, tmp_path: Path) -> None:
    file = archive(tmp_path / "a.jsonl", 1500)
    graph = tmp_path / "graph.jsonl"
    observations = [f"observation {number}" for number in range(300)]
    graph.write_text(json.dumps({"type": "entity", "name": "Ada", "observations": observations}), encoding="utf-8")

    running = [importing(home, one) for one in (file, file, graph, graph)]
    said = [process.communicate(timeout=120) for process in running]

    assert [process.returncode for process in running] == [0, 0, 0, 0], said
    assert rows(home.database) == (1800, 150)
    assert_sound(home.database)


def test_memory_stays_bounded_however_much_is_moved(home: Home, tmp_path: Path) -> None:
    """Ten times as much in and out takes about the same memory."""
    peaks = []
    for size in (500, 5000):
        file = archive(tmp_path / f"{size}.jsonl", size, words=100)
        out = tmp_path / f"{size}.out.jsonl"
        for arguments in (("import", str(file)), ("export", str(out))):
            result = subprocess.run(
                [sys.executable, "-c", MEASURED, *arguments], env=home.environment(), cwd=home.path, text=True,
                capture_output=True, encoding="utf-8", timeout=300, check=True,
            )  # fmt: skip
            peaks.append(int(result.stderr.rpartition("PEAK ")[2]) // 1024)
        assert len(out.read_bytes().splitlines()) == size + 1
    print(f"peaks in MB: import and export of 500, of 5,000: {peaks}")  # noqa: T201
    assert peaks[2] < peaks[0] + 25
    assert peaks[3] < peaks[1] + 15
