"""What docs/agents.md tells users to paste is what programs can read."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

PAGE = (Path(__file__).parents[2] / "docs/agents.md").read_text()
SNIPPETS = re.findall(r"```(json|toml)\n(.*?)```", PAGE, re.DOTALL)
PROGRAMS = ["Claude Code", "Claude Desktop", "Codex", "opencode", "Kimi", "Cursor", "VS Code"]


def servers(value: Any) -> list[dict[str, Any]]:
    """Every object that names a server, however deep."""
    if not isinstance(value, dict):
        return []
    if {"url", "command"} & value.keys():
        return [value]
    return [found for one in value.values() for found in servers(one)]


@pytest.mark.parametrize(("language", "snippet"), SNIPPETS, ids=map(str, range(len(SNIPPETS))))
def test_every_snippet_parses_and_names_the_server(language: str, snippet: str) -> None:
    (server,) = servers(json.loads(snippet) if language == "json" else tomllib.loads(snippet))
    if "url" in server:
        assert server["url"] == "http://127.0.0.1:8765/mcp"
    else:
        command = server["command"]
        assert [*(command if isinstance(command, list) else [command]), *server.get("args", [])] == [
            "memory-mcp",
            "--stdio",
        ]


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_program_has_both_ways(program: str) -> None:
    section = PAGE.split(f"## {program}\n", 1)[1].split("\n## ", 1)[0]
    assert "8765/mcp" in section
    assert "--stdio" in section
