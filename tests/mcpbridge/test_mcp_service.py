"""MCP of the real service, over HTTP."""

import asyncio
import json
from typing import Any

import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.service import Home, Service
from tests.stdio import call

pytestmark = pytest.mark.server

JSON = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
MODES = ["auto", "legacy"]


def rpc(service: Service, message: Any, path: str = "/mcp", **headers: str) -> tuple[int, bytes]:
    return service.send("POST", path, json.dumps(message).encode(), JSON | headers)


@pytest.mark.parametrize("mode", MODES)
def test_both_eras_and_both_paths(home: Home, mode: str) -> None:
    service = home.start()

    async def talk() -> None:
        for path in ("/mcp", "/mcp/"):
            async with Client(service.url + path, mode=mode) as client:
                kept = await client.call_tool("memory_store", {"content": f"The owl sits at {path}."})
                assert kept.structured_content["status"] == "created"
                found = await client.call_tool("memory_recall", {"query": "owl sits"})
                assert found.structured_content["memories"][0]["text"] == f"The owl sits at {path}."

    asyncio.run(talk())
    assert len(service.found("owl sits")) == 2


@pytest.mark.parametrize("workers", ["1", "2"])
def test_fifty_clients_at_once_lose_nothing(home: Home, workers: str) -> None:
    service = home.start("--workers", workers)
    url = f"{service.url}/mcp"

    async def one(number: int) -> str:
        async with Client(url, mode=MODES[number % 2]) as client:
            kept = await client.call_tool("memory_store", {"content": f"Owl number {number} sits on the fence."})
            found = await client.call_tool("memory_recall", {"query": f"owl number {number}", "limit": 50})
            assert kept.structured_content["uid"] in [m["uid"] for m in found.structured_content["memories"]]
            return str(kept.structured_content["status"])

    async def all_of_them() -> list[str]:
        return await asyncio.gather(*map(one, range(50)))

    assert asyncio.run(all_of_them()) == ["created"] * 50
    assert service.ask("GET", "/api/stats")[1]["memories"]["by_state"]["live"] == 50


def test_half_a_character_is_replaced(home: Home) -> None:
    service = home.start()
    status, answer = rpc(service, call(1, "memory_store", content="half \ud83d an owl"))
    assert status == 200, answer
    assert service.found("owl") == ["half \ufffd an owl"]


@pytest.mark.parametrize("odd", ["%FF%ED%A0%BD", "%00", "x" * 5000, "/nowhere/at/all", "../.."])
def test_what_a_client_says_of_itself_is_text_like_any(home: Home, odd: str) -> None:
    service = home.start()
    told = {"X-Memory-Client": odd[:100], "X-Memory-Cwd": odd}
    status, answer = rpc(service, call(1, "memory_store", content="The owl is awake."), **told)
    assert status == 200, answer
    assert service.found("owl") == ["The owl is awake."]
    assert "Traceback" not in service.log


def test_only_post_is_answered(home: Home) -> None:
    service = home.start()
    for method in ("GET", "DELETE", "PUT"):
        status, answer = service.ask(method, "/mcp", {} if method == "PUT" else None)
        assert (status, answer["code"]) == (405, "method_not_allowed")


def test_a_notification_is_accepted_without_an_answer(home: Home) -> None:
    service = home.start()
    message = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert rpc(service, message) == (202, b"")


def test_calls_that_are_none_are_said_to_be(home: Home) -> None:
    service = home.start()
    begin = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
    wrong = [[], "x", {"name": "memory_recall", "arguments": []}, {"name": 7}, {"name": None}]
    for message in (begin, *({**begin, "params": params} for params in wrong), {}, [], 7):
        status, body = rpc(service, message)
        assert status in (200, 400)
        assert b'"error"' in body
        assert b"Traceback" not in body
    assert service.ask("GET", "/health")[0] == 200


def test_a_token_is_needed_where_there_is_one(home: Home) -> None:
    service = home.start(MEMORY_TOKEN="secret-of-the-owner")
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    status, body = rpc(service, ping)
    assert (status, json.loads(body)["code"]) == (401, "unauthorized")
    assert rpc(service, ping, Authorization="Bearer secret-of-the-owner")[0] == 200


def test_a_token_bounds_what_its_agent_reaches(home: Home) -> None:
    service = home.start()
    printed = home.run("token", "create", "agent", "--scope", "ours", "--read-only").stdout
    token = next(word for word in printed.split() if word.startswith("memsite_"))

    async def talk() -> None:
        import httpx2

        http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"})
        async with http, Client(streamable_http_client(f"{service.url}/mcp", http_client=http)) as client:
            refused = await client.call_tool("memory_store", {"content": "The owl is awake."})
            assert refused.is_error
            elsewhere = await client.call_tool("memory_recall", {"query": "owl", "scope": "theirs"})
            assert elsewhere.is_error
            assert not (await client.call_tool("memory_recall", {"query": "owl"})).is_error

    asyncio.run(talk())


def test_the_guard_stands_before_it(home: Home) -> None:
    service = home.start()
    for headers, status in (
        ({"Origin": "https://evil.example"}, 403),
        ({"Host": "evil.example"}, 421),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Content-Type": "text/plain"}, 415),
    ):
        assert rpc(service, {"jsonrpc": "2.0", "id": 1, "method": "ping"}, **headers)[0] == status


def test_an_open_connection_does_not_hold_up_the_end(home: Home) -> None:
    service = home.start()

    async def talk() -> int:
        async with Client(f"{service.url}/mcp") as client:
            await client.list_tools()
            return await asyncio.to_thread(service.end)

    assert asyncio.run(talk()) == 0
