"""A judge behind a real server."""

from collections.abc import Iterator

import pytest

from memories.truth.judges.http import HttpJudge
from tests.memories.embedders.openai_server import Server


@pytest.fixture
def judge(server: Server) -> Iterator[HttpJudge]:
    from tests.memories.truth.judges.chats import closed

    judge = HttpJudge(server.url, model="m", api_key="its-own")
    yield judge
    closed(judge)
