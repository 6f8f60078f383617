"""What is to stand in one settings file, as functions of its text: put it in, take it out, show it."""

import dataclasses
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from memsite.install import jsonc, ours, toml
from memsite.install.jsonc import Json

NAMES = ("memory", "memsite")
"""How the MCP server is called; the second where the first is somebody else's."""


class Patch(Protocol):
    """`put` and `take` raise Unreadable; both leave a text that is right already as it is."""

    @property
    def path(self) -> Path: ...

    def put(self, text: str) -> str: ...

    def take(self, text: str) -> str: ...

    def snippet(self) -> str: ...

    def moved_to(self, path: Path) -> "Patch": ...

    def is_empty(self, text: str) -> bool:
        """Whether nothing is left that anybody would miss."""
        ...


@dataclass(frozen=True)
class JsonPatch:
    """`hooks`: for each event an entry of its list. `server`: what `servers` names. `plugin`: an entry of a list.

    `constants` are added where the file has nothing of that name.
    """

    path: Path
    hooks: Mapping[str, Json] = field(default_factory=dict)
    servers: jsonc.Path = ("mcpServers",)
    server: Json = None
    urls: frozenset[str] = frozenset()
    plugins: str = "plugin"
    plugin: Json = None
    constants: Mapping[str, Json] = field(default_factory=dict)

    def put(self, text: str) -> str:
        stripped = self._without_stale(text)
        for name, value in self.constants.items():
            if name not in jsonc.loads(stripped):
                stripped = jsonc.add(stripped, (), value, name=name)
        for event, entry in self.hooks.items():
            stripped = _put_one(stripped, self._hooks_of(stripped, event), ("hooks", event), entry)
        if self.server is not None:
            stripped = self._put_server(stripped)
        if self.plugin is not None:
            stripped = _put_one(stripped, self._plugins(stripped), (self.plugins,), self.plugin)
        return stripped

    def take(self, text: str) -> str:
        for path in reversed(self._everything(jsonc.loads(text))):
            text = jsonc.remove(text, path)
        return text

    def is_empty(self, text: str) -> bool:
        return all(self.constants.get(name) == value for name, value in jsonc.loads(text).items())

    def snippet(self) -> str:
        return self.put("")

    def moved_to(self, path: Path) -> Patch:
        return dataclasses.replace(self, path=path)

    def _without_stale(self, text: str) -> str:
        """Without our hooks of events that are not asked for any more."""
        events = jsonc.at(jsonc.loads(text), ("hooks",))
        for event in events if isinstance(events, dict) and self.hooks else ():
            if event not in self.hooks:
                for path in reversed(self._hooks_of(text, event)):
                    text = jsonc.remove(text, path)
        return text

    def _put_server(self, text: str) -> str:
        servers = jsonc.at(jsonc.loads(text), self.servers)
        if servers is not None and not isinstance(servers, dict):
            return jsonc.add(text, self.servers, self.server, name=NAMES[0])  # says what stands in the way
        found = [name for name, value in (servers or {}).items() if ours.is_server(value, self.urls)]
        for name in reversed(found[1:]):
            text = jsonc.remove(text, (*self.servers, name))
        if not found:
            name = next((name for name in NAMES if name not in (servers or {})), NAMES[0])
            return jsonc.add(text, self.servers, self.server, name=name)
        return _replaced(text, (*self.servers, found[0]), self.server)

    def _hooks_of(self, text: str, event: str) -> list[jsonc.Path]:
        place = ("hooks", event)
        return ours.hooks_in(jsonc.at(jsonc.loads(text), place), place)

    def _plugins(self, text: str) -> list[jsonc.Path]:
        return _matching(jsonc.loads(text), (self.plugins,), ours.is_plugin)

    def _everything(self, data: Json) -> list[jsonc.Path]:
        found: list[jsonc.Path] = []
        events = jsonc.at(data, ("hooks",))
        for event, groups in events.items() if isinstance(events, dict) and self.hooks else ():
            found += ours.hooks_in(groups, ("hooks", event))
        servers = jsonc.at(data, self.servers)
        if isinstance(servers, dict) and self.server is not None:
            found += [(*self.servers, name) for name, one in servers.items() if ours.is_server(one, self.urls)]
        if self.plugin is not None:
            found += _matching(data, (self.plugins,), ours.is_plugin)
        return found


@dataclass(frozen=True)
class TomlPatch:
    """`hooks`: the lines of one `[[hooks]]` table an event. `server`: the lines of `[mcp_servers.<name>]`."""

    path: Path
    hooks: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)
    server: Mapping[str, Json] | None = None
    urls: frozenset[str] = frozenset()

    def put(self, text: str) -> str:
        for event, values in self.hooks.items():
            found = [one for one in toml.tables(text) if _is_hook_table(one) and one.value.get("event") == event]
            text = _put_table(text, found, "[[hooks]]", values)
        return text if self.server is None else self._put_server(text)

    def take(self, text: str) -> str:
        if self.hooks:
            text = toml.remove(text, _is_hook_table)
        names = self._servers(text)
        return toml.remove(text, lambda table: table.name[:1] == ("mcp_servers",) and table.name[1:2] in names)

    def is_empty(self, text: str) -> bool:
        return not text.strip()

    def snippet(self) -> str:
        return self.put("")

    def moved_to(self, path: Path) -> Patch:
        return dataclasses.replace(self, path=path)

    def _servers(self, text: str) -> list[tuple[str, ...]]:
        servers = toml.loads(text).get("mcp_servers", {}) if self.server is not None else {}
        return [(name,) for name, value in servers.items() if ours.is_server(value, self.urls)]

    def _put_server(self, text: str) -> str:
        assert self.server is not None
        taken = toml.loads(text).get("mcp_servers", {})
        names = self._servers(text)
        if names and _covers(taken[names[0][0]], self.server) and len(names) == 1:
            return text
        (name,) = names[0] if names else (next((one for one in NAMES if one not in taken), NAMES[0]),)
        text = toml.remove(
            text,
            lambda table: (
                table.name[:1] == ("mcp_servers",) and table.name[1:2] in names and table.name != ("mcp_servers", name)
            ),
        )
        found = [one for one in toml.tables(text) if one.name == ("mcp_servers", name)]
        return _put_table(text, found, f"[mcp_servers.{name}]", self.server)


def _is_hook_table(table: toml.Table) -> bool:
    return table.name == ("hooks",) and ours.is_hook_entry(table.value)


def _put_table(text: str, found: list[toml.Table], header: str, values: Mapping[str, Json]) -> str:
    block = "\n".join([header, *(f"{name} = {_toml_value(value)}" for name, value in values.items())])
    if not found:
        return toml.add(text, block)
    for extra in reversed(found[1:]):
        text = text[: extra.start] + text[extra.end :]
    return text if _covers(found[0].value, values) else toml.replace(text, found[0], block)


def _toml_value(value: Json) -> str:
    """Strings, numbers and lists are written as in JSON; DEL is the one character that TOML wants escaped besides."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{name} = {_toml_value(one)}" for name, one in value.items()) + " }"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _put_one(text: str, found: list[jsonc.Path], home: jsonc.Path, entry: Json) -> str:
    """One entry in a list, where one of ours stands already or at its end."""
    for path in reversed(found[1:]):
        text = jsonc.remove(text, path)
    if not found:
        return jsonc.add(text, home, entry)
    is_inner = len(found[0]) > len(home) + 1
    return _replaced(text, found[0], entry["hooks"][0] if is_inner else entry)


def _replaced(text: str, path: jsonc.Path, value: Json) -> str:
    return text if _covers(jsonc.at(jsonc.loads(text), path), value) else jsonc.replace(text, path, value)


def _matching(data: Json, place: jsonc.Path, wanted: Callable[[Json], bool]) -> list[jsonc.Path]:
    entries = jsonc.at(data, place)
    return [(*place, index) for index, one in enumerate(entries) if wanted(one)] if isinstance(entries, list) else []


def _covers(existing: Json, wanted: Json) -> bool:
    """Whether all that is wanted is there; what a person added beside it stays."""
    if isinstance(wanted, dict) and isinstance(existing, dict):
        return all(name in existing and _covers(existing[name], value) for name, value in wanted.items())
    return bool(existing == wanted)
