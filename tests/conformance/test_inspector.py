"""The MCP Inspector as a client: over HTTP, through `memory-mcp --stdio` and with that alone, in both protocol eras."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.conftest import Tools, mcp_url
from tests.service import Home

pytestmark = [pytest.mark.server, pytest.mark.parametrize("era", ["legacy", "modern"])]

MEMORY_MCP = Path(sys.executable).with_name("memory-mcp")

type Inspect = Callable[..., Any]


@pytest.fixture(params=["http", "stdio", "stdio alone"])
def inspect(request: pytest.FixtureRequest, tools: Tools, era: str) -> Inspect:
    """Ask one thing by the Inspector and get what it prints."""
    home: Home = request.getfixturevalue("unserved" if request.param == "stdio alone" else "served")
    server = [mcp_url(home.started[0])] if request.param == "http" else ["--", MEMORY_MCP, "--stdio"]

    def ask(method: str, *options: str) -> Any:
        arguments = ["--cli", "--protocol-era", era, "--method", method, *options, *server]
        result = tools.run("mcp-inspector", *arguments, home=home)
        assert (result.returncode, result.stderr) == (0, "")
        return json.loads(result.stdout)

    return ask


def test_the_schemas_of_tools_suit_every_client(inspect: Inspect) -> None:
    # --strict ends with an error, and prints what is only advice.
    names = {tool["name"] for tool in inspect("tools/list", "--strict")["tools"]}

    verbs = {"store", "recall", "forget", "list", "history", "conflicts", "consolidate", "stats"}
    assert names == {f"memory_{verb}" for verb in verbs}


def test_statistics_are_a_structured_result(inspect: Inspect, request: pytest.FixtureRequest) -> None:
    result = inspect("tools/call", "--tool-name", "memory_stats")

    is_alone = "alone" in request.node.callspec.params["inspect"]
    assert not result.get("isError")
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
    assert bool(result["structuredContent"]["note"]) is is_alone


def test_statistics_are_a_resource_too(inspect: Inspect) -> None:
    [content] = inspect("resources/read", "--uri", "memory://stats")["contents"]

    assert content["mimeType"] == "application/json"
    assert "by_kind" in json.loads(content["text"])


def test_the_prompt_is_listed_with_its_arguments(inspect: Inspect) -> None:
    [prompt] = inspect("prompts/list")["prompts"]

    assert prompt["name"] == "recall_for_task"
    assert [argument["name"] for argument in prompt["arguments"]] == ["task", "project", "kind"]
