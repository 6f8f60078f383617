"""What in the settings of an agent program is ours, whichever version, path or hand put it there."""

import re
from collections.abc import Iterator
from pathlib import PurePath
from urllib.parse import unquote, urlsplit

from memsite.install.jsonc import Json, Path

HOOK_COMMAND = re.compile(r"memsite[/\\]hook\.py['\"]*\s+['\"]?(?P<harness>[a-z]+)['\"]?\s+['\"]?(?P<event>\w+)")
HOOK_URL = re.compile(r"https?://(?:127\.0\.0\.1|localhost|\[::1\])(?::\d+)?/hook/(?P<harness>[a-z]+)\b")
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
DEFAULT_PORT = 8765
PLUGIN_ENDS = (("memsite", "opencode_plugin"), ("opencode_plugin", "memory.ts"), ("opencode-plugin", "memory.ts"))


def is_hook(text: Json) -> bool:
    """Whether a command or an address is a hook into the memory."""
    return isinstance(text, str) and bool(HOOK_COMMAND.search(text) or HOOK_URL.search(text))


def is_hook_entry(value: Json) -> bool:
    """Whether an object in a list of hooks is one of ours."""
    return isinstance(value, dict) and any(is_hook(value.get(name)) for name in ("command", "bash", "url"))


def hook_commands(value: Json) -> Iterator[str]:
    """Every hook into the memory in settings, however deep; of twins for several shells the first."""
    if is_hook_entry(value):
        yield next(value[name] for name in ("command", "bash", "url") if is_hook(value.get(name)))
    elif isinstance(value, dict):
        for one in value.values():
            yield from hook_commands(one)
    elif isinstance(value, list):
        for one in value:
            yield from hook_commands(one)


def is_server(value: Json, urls: frozenset[str]) -> bool:
    """Whether an object names our MCP server; `urls` are those where it is known to be or to have been."""
    if not isinstance(value, dict):
        return False
    url = value.get("url") or value.get("httpUrl")
    if isinstance(url, str):
        return url in urls or _is_default(url)
    command = value.get("command")
    words = [*(command if isinstance(command, list) else [command]), *(value.get("args") or [])]
    return bool(words) and words[-1] == "--stdio" and any(_is_program(word) for word in words[:-1])


def is_plugin(value: Json) -> bool:
    """Whether an entry in the list of opencode's plugins is ours: by its options, its package or its file."""
    options: Json = None
    if isinstance(value, list) and value:
        value, options = value[0], value[1] if len(value) > 1 else None
    elif isinstance(value, dict):
        value, options = value.get("package"), value.get("options")
    if not isinstance(value, str):
        return False
    hook = options.get("hook") if isinstance(options, dict) else None
    if isinstance(hook, list) and hook and is_hook(f"{hook[-1]} opencode UserPromptSubmit"):
        return True
    return value == "memsite-opencode" or PurePath(unquote(value)).parts[-2:] in PLUGIN_ENDS


def hooks_in(groups: Json, place: Path) -> list[Path]:
    """Where ours are in the list of an event: each alone, or with the group that holds nothing else."""
    found: list[Path] = []
    for index, group in enumerate(groups if isinstance(groups, list) else []):
        inner = group.get("hooks") if isinstance(group, dict) else None
        if is_hook_entry(group) or (isinstance(inner, list) and inner and all(map(is_hook_entry, inner))):
            found.append((*place, index))
        elif isinstance(inner, list):
            found += [(*place, index, "hooks", n) for n, one in enumerate(inner) if is_hook_entry(one)]
    return found


def _is_default(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.hostname in LOOPBACK and parts.port == DEFAULT_PORT and parts.path.rstrip("/") == "/mcp"
    except ValueError:
        return False


def _is_program(word: Json) -> bool:
    return isinstance(word, str) and (word == "memsite.cli" or PurePath(word).name in ("memory-mcp", "memory-mcp.exe"))
