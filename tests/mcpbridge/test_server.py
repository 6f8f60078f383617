"""What the server offers, and what that costs a session."""

import json

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from mcpbridge.server import INSTRUCTIONS
from memsite.api.schemas import IngestIn, RecallIn
from tests.mcpbridge.conftest import Agent

LARGEST_LIST = 8192
"""Bytes: every session pays for them."""


def tools(agent: Agent) -> dict:
    found = agent.talk(lambda client: client.list_tools())
    return {tool.name: json.loads(tool.model_dump_json(by_alias=True, exclude_none=True)) for tool in found.tools}


def test_the_list_of_tools_is_small(agent: Agent) -> None:
    assert len(json.dumps(list(tools(agent).values()), separators=(",", ":")).encode()) <= LARGEST_LIST
    assert len(INSTRUCTIONS) <= 1200


def test_every_tool_is_described(agent: Agent) -> None:
    for tool in tools(agent).values():
        assert tool["title"]
        assert tool["description"].endswith(".")
        assert {"readOnlyHint", "openWorldHint"} <= tool["annotations"].keys()
        assert tool["outputSchema"]["type"] == "object"
        assert '"title":' not in json.dumps(tool["inputSchema"]) + json.dumps(tool["outputSchema"])
        assert "null" not in json.dumps(tool["inputSchema"])


def test_the_hints_say_what_a_tool_does(agent: Agent) -> None:
    hints = {name: tool["annotations"] for name, tool in tools(agent).items()}
    assert [name for name, hint in hints.items() if hint["readOnlyHint"]] == [
        "memory_recall",
        "memory_list",
        "memory_history",
        "memory_stats",
    ]
    assert [name for name, hint in hints.items() if hint.get("destructiveHint")] == ["memory_forget"]


def test_arguments_have_the_names_of_rest(agent: Agent) -> None:
    found = tools(agent)
    for name, schema in (("memory_store", IngestIn), ("memory_recall", RecallIn)):
        assert found[name]["inputSchema"]["properties"].keys() <= schema.model_fields.keys()


def test_lists_may_be_kept_and_are_the_same_for_all(agent: Agent) -> None:
    found = agent.talk(lambda client: client.list_tools())
    if agent.mode == "auto":
        assert (found.ttl_ms, found.cache_scope) == (3_600_000, "public")


def test_memories_and_numbers_are_resources(agent: Agent) -> None:
    uid = agent.call("memory_store", content="The owl is awake.")["uid"]
    templates = agent.talk(lambda client: client.list_resource_templates()).resource_templates
    assert [template.uri_template for template in templates] == ["memory://{uid}"]
    (memory,) = agent.talk(lambda client: client.read_resource(f"memory://{uid}")).contents
    assert json.loads(memory.text)["text"] == "The owl is awake."
    (stats,) = agent.talk(lambda client: client.read_resource("memory://stats")).contents
    assert json.loads(stats.text)["by_state"]["live"] == 1


def test_an_unknown_memory_is_an_invalid_parameter(agent: Agent) -> None:
    async def read(client: Client) -> str:
        with pytest.raises(MCPError) as caught:
            await client.read_resource("memory://nobody")
        assert caught.value.error.code == -32602
        return str(caught.value)

    assert agent.talk(read) == "There is no memory nobody."


def test_a_task_begins_with_what_is_known(agent: Agent) -> None:
    agent.call("memory_store", content="The owl is awake.", project="acme/shop", kind="decision")

    def ask(**arguments: str) -> str:
        found = agent.talk(lambda client: client.get_prompt("recall_for_task", arguments))
        text: str = found.messages[0].content.text
        return text

    assert "The owl is awake." in ask(task="Wake the owl", project="acme/shop", kind="decision")
    assert "No memory bears on this task." in ask(task="Wake the owl", kind="preference")


@pytest.mark.parametrize(
    ("name", "arguments", "sentence"),
    [
        ("nope", {}, "Unknown prompt: nope"),
        ("recall_for_task", {}, "Missing required arguments: {'task'}"),
        ("recall_for_task", {"task": "x", "kind": "hope"}, "kind 'hope' is unknown; it is one of"),
    ],
)
def test_a_prompt_that_cannot_be_made_is_an_invalid_parameter(
    agent: Agent, name: str, arguments: dict[str, str], sentence: str
) -> None:
    async def get(client: Client) -> str:
        with pytest.raises(MCPError) as caught:
            await client.get_prompt(name, arguments)
        assert caught.value.error.code == -32602
        return str(caught.value)

    assert agent.talk(get).startswith(sentence)


def test_arguments_of_the_prompt_are_completed(agent: Agent) -> None:
    for project in ("acme/shop", "acme/till", "other/shop"):
        agent.call("memory_store", content=f"About {project}.", project=project)

    def complete(name: str, value: str) -> list[str]:
        from mcp.types import PromptReference

        reference = PromptReference(type="ref/prompt", name="recall_for_task")
        found = agent.talk(lambda client: client.complete(reference, {"name": name, "value": value}))
        values: list[str] = found.completion.values
        return values

    assert complete("project", "shop") == ["acme/shop", "other/shop"]
    assert complete("kind", "p") == ["preference"]
    assert complete("task", "x") == []
