from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.conf import settings

from mcpbridge import pool


@pytest.fixture
def configure(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Change fields of settings.MEMORY for one test."""

    def change(**fields: Any) -> None:
        monkeypatch.setattr(settings, "MEMORY", settings.MEMORY.model_copy(update=fields))

    return change


@pytest.fixture
def fresh_pool() -> Iterator[None]:
    """No thread of the pool outlives the test with a connection to its database."""
    pool.shutdown(5)
    yield
    assert pool.shutdown(5)
