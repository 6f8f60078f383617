"""Every agent program: which files connect it with the memory, and what stands in them.

The units of time and the ways to refer to a variable differ from program to program; what each calls an event stands in
`memsite.harnesses`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from memsite.harnesses import named
from memsite.harnesses.base import Event
from memsite.install import jsonc, ours
from memsite.install.jsonc import Json
from memsite.install.patches import JsonPatch, Patch, TomlPatch
from memsite.install.places import Places
from memsite.install.unreadable import Unreadable
from memsite.install.wiring import TOKEN_VARIABLE, Wiring

SECONDS = 5
"""hook.py ends by itself after 1.5 seconds; this is for a machine under load."""
EVENTS = tuple(event.value for event in Event)

type Patches = Callable[[Places, Wiring, frozenset[str]], list[Patch]]


@dataclass(frozen=True)
class Harness:
    """`folder` is there where the program is in use; `project` is None where a project has no settings for it."""

    name: str
    title: str
    program: str
    folder: Callable[[Places], Path]
    user: Patches
    project: Patches | None
    next_step: str = ""

    def patches(self, places: Places, wiring: Wiring, urls: frozenset[str]) -> list[Patch]:
        """The files of a project if one is meant (none where it has none), else those of the user."""
        if places.project is None:
            return self.user(places, wiring, urls)
        return self.project(places, wiring, urls) if self.project else []

    def is_present(self, places: Places) -> bool:
        return self.folder(places).is_dir() or places.program(self.program) is not None


def _top(places: Places) -> Path:
    assert places.project is not None
    return places.project


def _events(name: str) -> dict[str, str]:
    """What a program calls each event -> what we call it."""
    return {native: event.value for native, event in named(name).events.items()}


def _grouped(wiring: Wiring, name: str, *, timeout: int = SECONDS) -> dict[str, Json]:
    return {
        native: {
            "hooks": [{"type": "command", "command": wiring.hook_command(name, event), "timeout": timeout}],
        }
        for native, event in _events(name).items()
    }


def _server(
    wiring: Wiring, *, url: str, token: str, kind: bool = False, extra: Mapping[str, Json] | None = None
) -> Json:
    """`url` is what the program calls the address, `token` how it refers to the variable."""
    if wiring.stdio:
        env = {"env": wiring.server_env} if wiring.server_env else {}
        stdio = {"type": "stdio"} if kind else {}
        return {**stdio, "command": wiring.server[0], "args": list(wiring.server[1:]), **env, **(extra or {})}
    headers = {"headers": {"Authorization": f"Bearer {token}"}} if wiring.authenticated else {}
    return {**({"type": "http"} if kind else {}), url: wiring.mcp_url, **headers, **(extra or {})}


def _claude_server(wiring: Wiring) -> Json:
    return _server(wiring, url="url", token=f"${{{TOKEN_VARIABLE}}}", kind=True)


def _claude(places: Places, wiring: Wiring, urls: frozenset[str]) -> list[Patch]:
    folder = places.folder("CLAUDE_CONFIG_DIR", ".claude")
    own = places.environ.get("CLAUDE_CONFIG_DIR", "").strip()
    state = (folder if own else places.home) / ".claude.json"
    return [
        JsonPatch(folder / "settings.json", hooks=_grouped(wiring, "claude")),
        JsonPatch(state, server=_claude_server(wiring), urls=urls),
    ]


def _claude_project(places: Places, wiring: Wiring, urls: frozenset[str]) -> list[Patch]:
    return [
        JsonPatch(_top(places) / ".claude/settings.json", hooks=_grouped(wiring, "claude")),
        JsonPatch(_top(places) / ".mcp.json", server=_claude_server(wiring), urls=urls),
    ]


def _codex_in(folder: Path, wiring: Wiring, urls: frozenset[str]) -> list[Patch]:
    server: dict[str, Json] = {"url": wiring.mcp_url}
    if wiring.authenticated:
        server["bearer_token_env_var"] = TOKEN_VARIABLE
    if wiring.stdio:
        server = {"command": wiring.server[0], "args": list(wiring.server[1:])}
        if wiring.server_env:
            server["env"] = wiring.server_env
    return [
        JsonPatch(folder / "hooks.json", hooks=_grouped(wiring, "codex")),
        TomlPatch(folder / "config.toml", server=server, urls=urls),
    ]


def _kimi_server(folder: Path, wiring: Wiring, urls: frozenset[str]) -> Patch:
    server = _server(wiring, url="url", token="")
    if server.pop("headers", None):
        server["bearerTokenEnvVar"] = TOKEN_VARIABLE
    return JsonPatch(folder / "mcp.json", server=server, urls=urls)


def _kimi(places: Places, wiring: Wiring, urls: frozenset[str]) -> list[Patch]:
    folder = places.folder("KIMI_CODE_HOME", ".kimi-code")
    hooks = {
        event: {"event": event, "command": wiring.hook_command("kimi", event), "timeout": SECONDS} for event in EVENTS
    }
    return [TomlPatch(folder / "config.toml", hooks=hooks), _kimi_server(folder, wiring, urls)]


def _gemini_in(folder: Path, name: str, wiring: Wiring, urls: frozenset[str]) -> list[Patch]:
    return [
        JsonPatch(
            folder / "settings.json",
            hooks=_grouped(wiring, name, timeout=SECONDS * 1000),
            server=_server(wiring, url="httpUrl", token=f"${TOKEN_VARIABLE}"),
            urls=urls,
        )
    ]


def _copilot_hooks(path: Path, wiring: Wiring) -> Patch:
    hooks = {
        native: {
            "type": "command",
            "bash": wiring.hook_command("copilot", event),
            "powershell": wiring.powershell_command("copilot", event),
            "timeoutSec": SECONDS,
        }
        for native, event in _events("copilot").items()
    }
    return JsonPatch(path, hooks=hooks, constants={"version": 1})


def _copilot(places: Places, wiring: Wiring, urls: frozenset[str]) -> list[Patch]:
    folder = places.folder("COPILOT_HOME", ".copilot")
    server = _server(wiring, url="url", token=f"${{{TOKEN_VARIABLE}}}", kind=not wiring.stdio, extra={"tools": ["*"]})
    if wiring.stdio:
        server = {"type": "local", **server}
    return [
        _copilot_hooks(folder / "hooks/memory.json", wiring),
        JsonPatch(folder / "mcp-config.json", server=server, urls=urls),
    ]


def _copilot_project(places: Places, wiring: Wiring, urls: frozenset[str]) -> list[Patch]:
    return [
        _copilot_hooks(_top(places) / ".github/hooks/memory.json", wiring),
        JsonPatch(_top(places) / ".mcp.json", server=_claude_server(wiring), urls=urls),
    ]


def _cursor_in(folder: Path, wiring: Wiring, urls: frozenset[str]) -> list[Patch]:
    hooks = {
        native: {"command": wiring.hook_command("cursor", event), "timeout": SECONDS}
        for native, event in _events("cursor").items()
    }
    server = _server(wiring, url="url", token=f"${{env:{TOKEN_VARIABLE}}}")
    return [
        JsonPatch(folder / "hooks.json", hooks=hooks, constants={"version": 1}),
        JsonPatch(folder / "mcp.json", server=server, urls=urls),
    ]


def _opencode_in(folder: Path, wiring: Wiring, urls: frozenset[str]) -> list[Patch]:
    path = _opencode_file(folder)
    second = _is_second_line(path)
    server: dict[str, Json] = {"type": "remote", "url": wiring.mcp_url, "oauth": False}
    if wiring.authenticated:
        server["headers"] = {"Authorization": f"Bearer {{env:{TOKEN_VARIABLE}}}"}
    if wiring.stdio:
        server = {"type": "local", "command": list(wiring.server)}
        if wiring.server_env:
            server["environment"] = wiring.server_env
    return [
        JsonPatch(
            path,
            servers=("mcp", "servers") if second else ("mcp",),
            server=server if second else {**server, "enabled": True},
            urls=urls,
            plugins="plugins" if second else "plugin",
            plugin=wiring.named_plugin() if second else wiring.plugin_entry(),
        )
    ]


def _opencode_file(folder: Path) -> Path:
    """Of two files, which opencode merges, the one that holds ours already, else the one with comments."""
    found = [folder / name for name in ("opencode.jsonc", "opencode.json") if (folder / name).exists()]
    holding = [path for path in found if any(map(ours.is_plugin, _plugins(path)))]
    return [*holding, *found, folder / "opencode.json"][0]


def _plugins(path: Path) -> list[Json]:
    data = _read(path)
    entries = [jsonc.at(data, (name,)) for name in ("plugin", "plugins")]
    return [one for entry in entries if isinstance(entry, list) for one in entry]


def _read(path: Path) -> Json:
    """Nothing if it cannot be read: it is refused once it is to be changed."""
    try:
        return jsonc.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, Unreadable):
        return {}


def _is_second_line(path: Path) -> bool:
    """Whether a configuration is written as opencode 2 wants it."""
    data = _read(path)
    servers = jsonc.at(data, ("mcp", "servers"))
    return "plugins" in data or (isinstance(servers, dict) and "type" not in servers)


HARNESSES = {
    one.name: one
    for one in (
        Harness(
            "claude",
            "Claude Code",
            "claude",
            lambda places: places.folder("CLAUDE_CONFIG_DIR", ".claude"),
            _claude,
            _claude_project,
            "restart Claude Code; /hooks and /mcp show what it found",
        ),
        Harness(
            "codex",
            "Codex",
            "codex",
            lambda places: places.folder("CODEX_HOME", ".codex"),
            lambda places, wiring, urls: _codex_in(places.folder("CODEX_HOME", ".codex"), wiring, urls),
            lambda places, wiring, urls: _codex_in(_top(places) / ".codex", wiring, urls),
            "start Codex and run /hooks once to trust the hooks; until then it skips them without a word",
        ),
        Harness(
            "copilot",
            "Copilot CLI",
            "copilot",
            lambda places: places.folder("COPILOT_HOME", ".copilot"),
            _copilot,
            _copilot_project,
            "restart Copilot",
        ),
        Harness(
            "cursor",
            "Cursor",
            "cursor",
            lambda places: places.home / ".cursor",
            lambda places, wiring, urls: _cursor_in(places.home / ".cursor", wiring, urls),
            lambda places, wiring, urls: _cursor_in(_top(places) / ".cursor", wiring, urls),
            "restart Cursor and switch the server on under Settings, MCP",
        ),
        Harness(
            "gemini",
            "Gemini CLI",
            "gemini",
            lambda places: places.home / ".gemini",
            lambda places, wiring, urls: _gemini_in(places.home / ".gemini", "gemini", wiring, urls),
            lambda places, wiring, urls: _gemini_in(_top(places) / ".gemini", "gemini", wiring, urls),
            "restart Gemini CLI",
        ),
        Harness(
            "kimi",
            "Kimi Code",
            "kimi",
            lambda places: places.folder("KIMI_CODE_HOME", ".kimi-code"),
            _kimi,
            lambda places, wiring, urls: [_kimi_server(_top(places) / ".kimi-code", wiring, urls)],
            "restart Kimi Code; `kimi doctor` checks its configuration",
        ),
        Harness(
            "opencode",
            "opencode",
            "opencode",
            lambda places: places.config() / "opencode",
            lambda places, wiring, urls: _opencode_in(places.config() / "opencode", wiring, urls),
            lambda places, wiring, urls: _opencode_in(_opencode_project(places), wiring, urls),
            "restart opencode",
        ),
        Harness(
            "qwen",
            "Qwen Code",
            "qwen",
            lambda places: places.home / ".qwen",
            lambda places, wiring, urls: _gemini_in(places.home / ".qwen", "qwen", wiring, urls),
            lambda places, wiring, urls: _gemini_in(_top(places) / ".qwen", "qwen", wiring, urls),
            "restart Qwen Code",
        ),
    )
}
ALIASES = {"claude-code": "claude"}


def _opencode_project(places: Places) -> Path:
    """The folder whose file is used already; a new one is made in .opencode."""
    top = _top(places)
    return top if any((top / name).exists() for name in ("opencode.json", "opencode.jsonc")) else top / ".opencode"
