from collections.abc import Iterator

import pytest

from mcpbridge import pool


@pytest.fixture
def fresh_pool() -> Iterator[None]:
    """No thread of the pool outlives the test with a connection to its database."""
    pool.shutdown(5)
    yield
    assert pool.shutdown(5)
