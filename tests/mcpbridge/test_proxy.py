"""The lines that the proxy passes on, in this process, against the real service."""

import json
from typing import Any

import pytest

from mcpbridge.proxy import VERSION, Live, Proxy
from tests.service import Home

pytestmark = pytest.mark.server

MODERN = {"_meta": {VERSION: "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}}


def spoken(live: Live | None, *messages: Any) -> dict[Any, Any]:
    """The answers to some lines, by id."""
    lines = [one if isinstance(one, bytes) else json.dumps({"jsonrpc": "2.0", **one}).encode() for one in messages]
    answers: list[bytes] = []
    Proxy(lambda: live, answers.append).run(lines)
    found = [json.loads(answer) for answer in answers]
    return {one["id"]: one for one in found}


def test_requests_of_both_eras_are_answered(home: Home) -> None:
    service = home.start()
    begin = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "agent", "version": "1"},
    }
    found = spoken(
        Live(f"{service.url}/mcp"),
        {"id": 1, "method": "initialize", "params": begin},
        {"id": "two", "method": "tools/call", "params": {"name": "memory_stats", "arguments": {}, **MODERN}},
        {"id": 3, "method": "resources/read", "params": {"uri": "memory://ü", **MODERN}},
        {"method": "notifications/initialized"},
        {"method": "notifications/cancelled", "params": {"requestId": 99}},
        b"{no json",
        b"\n",
    )
    assert found[1]["result"]["serverInfo"]["name"] == "memsite"
    assert found["two"]["result"]["structuredContent"]["by_state"]["live"] == 0
    assert found[3]["error"]["code"] == -32602
    assert found[None]["error"]["code"] == -32700
    assert len(found) == 4


def test_what_the_service_refuses_is_told(home: Home) -> None:
    service = home.start(MEMORY_TOKEN="secret-of-the-owner")
    ping = {"id": 1, "method": "ping"}
    assert "MEMORY_TOKEN" in spoken(Live(f"{service.url}/mcp", "wrong"), ping)[1]["error"]["message"]
    assert spoken(Live(f"{service.url}/mcp", "secret-of-the-owner"), ping)[1]["result"] == {}


def test_a_service_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcpbridge.proxy.RETURN_SECONDS", 0.2)
    for live in (None, Live("http://127.0.0.1:9/mcp")):
        answer = spoken(live, {"id": 1, "method": "ping"})[1]
        assert "has stopped" in answer["error"]["message"]
