"""A database that may suddenly not be written: reads go on, writes are a clear problem, and it ends when that ends."""

import contextlib
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mcpbridge.pool import THREADS
from tests.faults.conftest import Service

pytestmark = pytest.mark.server


@contextlib.contextmanager
def immutable(*paths: Path) -> Iterator[None]:
    """Root and descriptors that are open already are bound by it too; file permissions bind neither."""
    try:
        for path in paths:
            try:
                result = subprocess.run(["chattr", "+i", str(path)], check=False, capture_output=True)
            except FileNotFoundError:
                pytest.skip("chattr is needed to make an open file read-only")
            if result.returncode:
                pytest.skip("only root, on a file system that knows immutable files, can make an open file read-only")
        yield
    finally:
        for path in paths:
            with contextlib.suppress(FileNotFoundError):
                subprocess.run(["chattr", "-i", str(path)], check=False, capture_output=True)


def test_a_file_that_becomes_read_only_is_said_and_survived(serve: Callable[..., Service]) -> None:
    service = serve(MEMORY_MAINTENANCE_ON_START="0")
    assert service.keep("The parrot was stored while that was allowed.") == 201
    with immutable(service.database, service.database.with_name("memory.db-wal")):
        for _ in range(THREADS + 1):
            status, problem = service.ask("POST", "/ingest", {"content": "The owl comes too late."})
            assert (status, problem["code"]) == (503, "store_unavailable")
        assert service.found("parrot")
        assert service.ask("POST", "/recall", {"query": "parrot stored", "session": "s"})[1]["memories"]
        assert service.ask("GET", "/health")[1]["status"] == "ok"
    # A connection that was opened meanwhile can only read; its first failure replaces it.
    answers = [service.keep(f"The owl {turn} is in time.") for turn in range(THREADS * 10)]
    assert set(answers) <= {201, 503}
    assert answers.count(503) <= THREADS
    assert service.found("owl")
