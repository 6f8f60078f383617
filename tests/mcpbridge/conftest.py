"""A client of a server in this process, in either protocol era."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
from mcp import Client
from mcp.types import CallToolResult

from mcpbridge import acting, pool
from mcpbridge.server import build
from memories.principal import ANYONE, Principal

type Talk = Callable[[Client], Awaitable[Any]]


class Agent:
    """Connects anew for each call, as a stateless server must allow."""

    def __init__(self, mode: str, principal: Principal = ANYONE, *, alone: bool = False) -> None:
        self.mode, self.principal, self.alone = mode, principal, alone

    def talk(self, talk: Talk) -> Any:
        async def connected() -> Any:
            acting.principal.set(self.principal)
            async with Client(build(version="1", alone=self.alone), mode=self.mode) as client:
                return await talk(client)

        return asyncio.run(connected())

    def result(self, tool: str, **arguments: Any) -> CallToolResult:
        found: CallToolResult = self.talk(lambda client: client.call_tool(tool, arguments))
        return found

    def call(self, tool: str, **arguments: Any) -> Any:
        """The structured content of a call that must succeed."""
        result = self.result(tool, **arguments)
        assert not result.is_error, result.content
        return result.structured_content

    def refused(self, tool: str, **arguments: Any) -> str:
        """The one sentence that a call is refused with."""
        result = self.result(tool, **arguments)
        assert result.is_error, result.structured_content
        (content,) = result.content
        text: str = content.text
        assert "\n" not in text
        assert "Traceback" not in text
        return text


@pytest.fixture(params=["auto", "legacy"])
def agent(request: pytest.FixtureRequest, transactional_db: None) -> Iterator[Agent]:
    pool.shutdown(5)
    yield Agent(request.param)
    assert pool.shutdown(5)
