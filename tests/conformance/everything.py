"""The service with the tools, resources and prompts that the conformance scenarios name, in place of ours.

All else is the product: the process, the guard, the composition, and the server that `mcpbridge` builds. Run as a
script it takes the arguments of `memory-mcp`.
"""

import base64
import json
import os
from typing import Annotated
from unittest.mock import patch

import django
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.prompts.base import UserMessage
from mcp.shared.exceptions import MCPError
from mcp.types import (
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    AudioContent,
    CallToolResult,
    Completion,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    TextContent,
    TextResourceContents,
)
from pydantic import Field

# One red pixel, and no sound at all.
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"
WAV = base64.b64encode(
    b"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0\x40\x1f\0\0\x40\x1f\0\0\1\0\x08\0data\0\0\0\0"
).decode()
SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


def text(content: str) -> TextContent:
    return TextContent(type="text", text=content)


def image() -> ImageContent:
    return ImageContent(type="image", data=PNG, mime_type="image/png")


def embedded(uri: str, content: str, mime_type: str = "text/plain") -> EmbeddedResource:
    return EmbeddedResource(type="resource", resource=TextResourceContents(uri=uri, mime_type=mime_type, text=content))


def answer(*content: ContentBlock) -> CallToolResult:
    return CallToolResult(content=list(content))


async def test_simple_text() -> CallToolResult:
    """A text."""
    return answer(text("This is a simple text response for testing."))


async def test_image_content() -> CallToolResult:
    """An image."""
    return answer(image())


async def test_audio_content() -> CallToolResult:
    """A sound."""
    return answer(AudioContent(type="audio", data=WAV, mime_type="audio/wav"))


async def test_embedded_resource() -> CallToolResult:
    """A resource inside a result."""
    return answer(embedded("test://embedded-resource", "This is an embedded resource content."))


async def test_multiple_content_types() -> CallToolResult:
    """A text, an image and a resource."""
    data = embedded("test://mixed-content-resource", json.dumps({"test": "data", "value": 123}), "application/json")
    return answer(text("Multiple content types test:"), image(), data)


async def test_error_handling() -> CallToolResult:
    """An error that a model reads."""
    raise ToolError("This tool intentionally returns an error for testing")


async def test_tool_with_progress(ctx: Context) -> CallToolResult:
    """Progress on the way to a text."""
    for progress in (0, 50, 100):
        await ctx.report_progress(progress, 100)
    return answer(text("done"))


async def test_missing_capability() -> CallToolResult:
    """An error of the protocol: what the client would have to offer."""
    data = {"requiredCapabilities": {"sampling": {}}}
    raise MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, "The client offers no sampling.", data)


async def test_logging_tool() -> CallToolResult:
    """A text, and no log message before it."""
    return answer(text("done"))


async def test_streaming_elicitation() -> CallToolResult:
    """A text, and no question before it."""
    return answer(text("done"))


async def json_schema_2020_12_tool() -> CallToolResult:
    """Arguments described by many keywords."""
    return answer(text("done"))


async def test_custom_header(
    region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})],
) -> CallToolResult:
    """An argument that a header repeats."""
    return answer(text(region))


async def static_text() -> str:
    return "This is the content of the static text resource."


async def static_binary() -> bytes:
    return base64.b64decode(PNG)


async def template(id: str) -> str:  # noqa: A002 - the name in the template
    return json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"})


async def test_simple_prompt() -> str:
    return "This is a simple prompt for testing."


async def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
    return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


async def test_prompt_with_embedded_resource(resourceUri: str) -> list[UserMessage]:  # noqa: N803 - a wire name
    resource = embedded(resourceUri, "Embedded resource content for testing.")
    return [UserMessage(resource), UserMessage("Please process the embedded resource above.")]


async def test_prompt_with_image() -> list[UserMessage]:
    return [UserMessage(image()), UserMessage("Please analyze the image above.")]


async def complete(ref: object, argument: object, context: object) -> Completion:
    return Completion(values=["test"], has_more=False)


TOOLS = [
    test_simple_text,
    test_image_content,
    test_audio_content,
    test_embedded_resource,
    test_multiple_content_types,
    test_error_handling,
    test_tool_with_progress,
    test_missing_capability,
    test_logging_tool,
    test_streaming_elicitation,
    json_schema_2020_12_tool,
    test_custom_header,
]


def offer(server: MCPServer, *, alone: bool) -> None:
    for tool in TOOLS:
        server.add_tool(tool)
    server._tool_manager.get_tool("json_schema_2020_12_tool").parameters = SCHEMA
    server.resource("test://static-text", description="A text.", mime_type="text/plain")(static_text)
    server.resource("test://static-binary", description="An image.", mime_type="image/png")(static_binary)
    server.resource("test://template/{id}/data", description="Data by number.", mime_type="application/json")(template)
    server.prompt(description="A text.")(test_simple_prompt)
    server.prompt(description="A text of two arguments.")(test_prompt_with_arguments)
    server.prompt(description="A resource and a text.")(test_prompt_with_embedded_resource)
    server.prompt(description="An image and a text.")(test_prompt_with_image)
    server.completion()(complete)


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memsite.settings")
    django.setup()
    from memsite.cli import main

    with patch("mcpbridge.server.MemoryServer.offer", offer):
        main()
