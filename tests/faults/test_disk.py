"""A disk without room: a clear problem, and the service lives."""

import contextlib
import http.client
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.test_kill import ask, serving
from tests.requirements import need

pytestmark = pytest.mark.server


def mounted(*arguments: str) -> bool:
    return subprocess.run(["mount", *arguments], check=False, capture_output=True).returncode == 0


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    need(mounted("-t", "tmpfs", "-o", "size=8m", "tmpfs", str(tmp_path)), "only root may mount a small disk")
    yield tmp_path
    subprocess.run(["umount", "-l", str(tmp_path)], check=True)


def status(port: int, path: str, **body: object) -> tuple[int, dict[str, object]]:
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
        connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        return answer.status, json.load(answer)


def test_a_full_disk_is_said_and_survived(small_disk: Path):
    with serving(small_disk) as (_, port):
        kept = ask(port, "/ingest", content="The parrot was stored while there was room.")["uid"]
        filler = small_disk / "filler"
        with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
            while True:
                file.write(b"\0" * 65536)
        answers = [status(port, "/ingest", content=f"number {turn} " + "word " * 20_000) for turn in range(3)]
        assert (507, "store_full") in [(code, problem.get("code")) for code, problem in answers]
        assert all(code in (201, 507) for code, _ in answers)
        assert ask(port, "/recall", query="parrot stored", mode="search")["memories"][0]["uid"] == kept
        filler.unlink()
        assert status(port, "/ingest", content="There is room again.")[0] == 201
