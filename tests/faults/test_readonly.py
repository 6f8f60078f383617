"""A database that may suddenly not be written: reads go on, writes are a clear problem, and it ends when that ends."""

import contextlib
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcpbridge.pool import READERS
from tests.requirements import need
from tests.service import Home

pytestmark = [pytest.mark.server, pytest.mark.usefixtures("settled")]


def change(path: Path, attribute: str) -> bool:
    chattr = shutil.which("chattr")
    if chattr is None:
        return False
    return subprocess.run([chattr, attribute, path], check=False, capture_output=True).returncode == 0


@contextlib.contextmanager
def immutable(*paths: Path) -> Iterator[None]:
    """Root and descriptors that are open already are bound by it too; file permissions bind neither."""
    try:
        for path in paths:
            need(change(path, "+i"), "only root, with chattr and a file system that knows it, makes a file immutable")
        yield
    finally:
        for path in paths:
            change(path, "-i")


def test_a_file_that_becomes_read_only_is_said_and_survived(home: Home) -> None:
    service = home.start(MEMORY_MAINTENANCE_ON_START="0")
    assert service.keep("The parrot was stored while that was allowed.") == 201
    with immutable(home.database, home.database.with_name("memory.db-wal")):
        for _ in range(READERS + 1):
            status, problem = service.ask("POST", "/ingest", {"content": "The owl comes too late."})
            assert (status, problem["code"]) == (503, "store_unavailable")
        assert service.found("parrot")
        assert service.ask("POST", "/recall", {"query": "parrot stored", "session": "s"})[1]["memories"]
        assert service.ask("GET", "/health")[1]["status"] == "ok"
    assert [service.keep(f"The owl {turn} is in time.") for turn in range(READERS * 3)] == [201] * READERS * 3
    assert service.found("owl")
