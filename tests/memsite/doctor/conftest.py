"""An installation, and a port where nothing listens."""

import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.memsite.doctor.installed import Installed
from tests.memsite.user import User


@pytest.fixture
def installed(tmp_path: Path, moved: Callable[[str], None]) -> Installed:
    return Installed(tmp_path / "opt", moved)


@pytest.fixture
def free_port() -> Iterator[int]:
    """Bound, so that nobody else takes it, but nothing listens."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


@pytest.fixture
def at_a_free_port(configure: Callable[..., None], user: User, free_port: int) -> None:
    configure(port=free_port)
