"""A disk without room: a clear problem, and the service lives."""

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.requirements import need
from tests.service import Home

pytestmark = pytest.mark.server


def mounted(*arguments: str) -> bool:
    return subprocess.run(["mount", *arguments], check=False, capture_output=True).returncode == 0


@pytest.fixture
def small_disk(home: Home) -> Iterator[Path]:
    """The store of this home is alone on it."""
    home.data.mkdir(parents=True)
    options = ["-t", "tmpfs", "-o", "size=8m,mode=700", "tmpfs", str(home.data)]
    need(mounted(*options), "only root may mount a small disk")
    yield home.data
    home.end()
    subprocess.run(["umount", "-l", str(home.data)], check=True)


def test_a_full_disk_is_said_and_survived(home: Home, small_disk: Path) -> None:
    service = home.start()
    kept = service.post("/ingest", content="The parrot was stored while there was room.")["uid"]
    filler = small_disk / "filler"
    with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
        while True:
            file.write(b"\0" * 65536)
    texts = [f"number {turn} " + "word " * 20_000 for turn in range(3)]
    answers = [service.ask("POST", "/ingest", {"content": text}) for text in texts]
    assert (507, "store_full") in [(code, problem.get("code")) for code, problem in answers]
    assert all(code in (201, 507) for code, _ in answers)
    assert service.post("/recall", query="parrot stored", mode="search")["memories"][0]["uid"] == kept
    filler.unlink()
    assert service.keep("There is room again.") == 201
