"""Settings that users have already, and what of ours is found in them."""

import tomllib
from typing import Any

import pytest

from memsite.install import jsonc, ours
from memsite.install.harnesses import HARNESSES
from tests.memsite.user import User

CLAUDE_SETTINGS = """{
  // the team's
  "permissions": {"allow": ["Bash(ls:*)"]},
  "hooks": {
    "PostToolUse": [
      {"matcher": "Edit", "hooks": [{"type": "command", "command": "prettier --write"}]}, // keep
    ],
    "Stop": [{"hooks": [{"type": "command", "command": "python3 /home/me/hook.py claude Stop"}]}],
  },
}
"""
CLAUDE_STATE = (
    '{\n  "numStartups": 7,\n  "mcpServers": {\n    "memory": {"command": "npx", "args": ["server-memory"]}\n  }\n}'
)
CODEX_HOOKS = '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say done"}]}]}}\r\n'
CODEX_CONFIG = """model = "gpt-5"   # mine

[mcp_servers.docs]
url = "http://localhost:3000/mcp"

[hooks.state."/home/me/.codex/hooks.json:stop:0:0"]
trusted_hash = "sha256:00"
"""
KIMI_CONFIG = 'default_model = "k2"\r\n\r\n[[hooks]]\r\nevent = "Stop"\r\ncommand = "say \\"done\\""'
OPENCODE_CONFIG = """\ufeff{
\t"$schema": "https://opencode.ai/config.json",
\t// plugins
\t"plugin": ["some-plugin", ["file:///home/me/opencode-plugin", {"x": 1}],],
\t"mcp": {
\t\t"docs": {"type": "remote", "url": "http://localhost:3000/mcp"}, /* the docs */
\t}
}
"""
GEMINI_SETTINGS = '{\n    "theme": "Default",\n    "mcpServers": {"docs": {"httpUrl": "http://x/mcp"}}\n}\n'
EXISTING = {
    "claude": {".claude/settings.json": CLAUDE_SETTINGS, ".claude.json": CLAUDE_STATE},
    "codex": {".codex/hooks.json": CODEX_HOOKS, ".codex/config.toml": CODEX_CONFIG},
    "copilot": {".copilot/mcp-config.json": '{"mcpServers": {"docs": {"type": "http", "url": "http://x/mcp"}}}'},
    "cursor": {
        ".cursor/hooks.json": '{"version": 1, "hooks": {"stop": [{"command": "./x.sh"}]}}',
        ".cursor/mcp.json": "",
    },
    "gemini": {".gemini/settings.json": GEMINI_SETTINGS},
    "kimi": {".kimi-code/config.toml": KIMI_CONFIG, ".kimi-code/mcp.json": "{}"},
    "opencode": {".config/opencode/opencode.jsonc": OPENCODE_CONFIG},
    "qwen": {".qwen/settings.json": '{"$version": 2,\n "ui": {"theme": "x"}}'},
}
every_harness = pytest.mark.parametrize("name", sorted(HARNESSES))


def parsed(content: bytes) -> Any:
    text = content.decode()
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return jsonc.loads(text)


def settings_of(user: User) -> dict[str, Any]:
    return {name: parsed(content) for name, content in user.files().items() if not name.endswith(".bak")}


def servers(value: Any) -> list[Any]:
    """Every MCP server of ours, however deep."""
    if ours.is_server(value, frozenset()):
        return [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [one for part in parts for one in servers(part)]


def plugins(value: Any) -> list[Any]:
    return [one for one in value.get("plugin", []) if ours.is_plugin(one)]


def hooks_of(user: User) -> list[str]:
    return [command for data in settings_of(user).values() for command in ours.hook_commands(data)]


def prepare(user: User, name: str) -> dict[str, bytes]:
    for file, text in EXISTING[name].items():
        user.write(file, text)
    return user.files()
