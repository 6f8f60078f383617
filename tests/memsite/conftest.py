from collections.abc import Iterator

import pytest

from mcpbridge import pool
from memories.errors import Unauthorized
from memories.principal import Principal
from memsite import guard
from memsite.access import OWNER, VISITOR


@pytest.fixture
def fresh_pool() -> Iterator[None]:
    """No thread of the pool outlives the test with a connection to its database."""
    pool.shutdown(5)
    yield
    assert pool.shutdown(5)


@pytest.fixture
def authentication(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str | None]]:
    """Authentication without a database: `Bearer good` or, while the list is empty-handed, anyone."""
    seen: list[str | None] = []

    def authenticate(authorization: str | None) -> Principal:
        seen.append(authorization)
        if authorization == "Bearer good":
            return OWNER
        if authorization == "Bearer bad":
            raise Unauthorized("No.")
        return VISITOR

    monkeypatch.setattr(guard, "authenticate", authenticate)
    yield seen
    pool.shutdown(5)
