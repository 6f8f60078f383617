"""What really stands in the settings of each agent program: run, not only read."""

import json
import os
import shlex
import subprocess
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from memsite.doctor.finding import Finding, fail, ok, warn
from memsite.install import jsonc, ours, toml
from memsite.install import wiring as here
from memsite.install.harnesses import EVENTS, Harness
from memsite.install.places import Places
from memsite.install.unreadable import Unreadable
from memsite.install.wiring import Wiring

PATIENCE_SECONDS = 5.0
BUDGET_SECONDS = 1.5
SESSION = "memory-mcp-doctor"


@dataclass(frozen=True)
class Wired:
    """Hooks and MCP servers that the settings of one program hold, and the files that cannot be read.

    `trusted`: the commands that may be run. A folder's own settings may come from a stranger with a clone.
    """

    trusted: set[str]
    hooks: list[str] = field(default_factory=list)
    servers: list[dict[str, Any]] = field(default_factory=list)
    plugins: list[Any] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.hooks or self.servers or self.plugins or self.unreadable)

    @property
    def by_stdio(self) -> bool:
        return any("command" in one for one in self.servers)


def read(harness: Harness, places: list[Places], wiring: Wiring, urls: frozenset[str]) -> Wired:
    """Everything of ours in the files that install would write, at each of the places."""
    wired = Wired({shlex.join(wiring.interpreter()), *(wiring.hook_command(harness.name, event) for event in EVENTS)})
    for place in places:
        for patch in harness.patches(place, wiring, urls):
            try:
                data = _parsed(patch.path)
            except (OSError, UnicodeDecodeError, Unreadable) as error:
                wired.unreadable.append(f"{patch.path}: {error}")
                continue
            hooks = list(ours.hook_commands(data))
            entries = [*_listed(data, "plugin"), *_listed(data, "plugins")]
            plugins = [one for one in entries if ours.is_plugin(one)]
            if place.project is None:
                wired.trusted.update(hooks, (_plugin_command(one) for one in plugins))
            wired.hooks.extend(hooks)
            wired.servers.extend(_servers(data, urls))
            wired.plugins.extend(plugins)
    return wired


def findings(harness: Harness, wired: Wired, wiring: Wiring) -> Iterator[Finding]:
    again = f"memory-mcp install {harness.name}"
    for sentence in wired.unreadable:
        yield fail(f"{harness.title}: {sentence}", "mend the file")
    if harness.name == "opencode":
        yield from _plugin(harness, wired, again)
    else:
        yield from _hooks(harness, wired, again)
    yield from _server(harness, wired, wiring, again)


def _hooks(harness: Harness, wired: Wired, again: str) -> Iterator[Finding]:
    events = Counter(event for command in wired.hooks if (event := _event(command)))
    for event, count in events.items():
        if count > 1:
            yield warn(f"{harness.title}: {count} hooks for {event}", f"memory-mcp uninstall {harness.name}; {again}")
    missing = [event for event in EVENTS if event not in events]
    if missing:
        yield warn(f"{harness.title}: no hook for {', '.join(missing)}", again)
    commands = [one for one in wired.hooks if not one.startswith("http")]
    broken = {sentence for command in commands for sentence in _dangling(command)}
    for sentence in sorted(broken):
        yield fail(f"{harness.title}: {sentence}", again)
    if commands and not broken:
        yield from _answers(harness, [one for one in commands if one in wired.trusted])
        yield from _not_run(harness, [one for one in commands if one not in wired.trusted], again)


def _plugin(harness: Harness, wired: Wired, again: str) -> Iterator[Finding]:
    if len(wired.plugins) != 1:
        kind = "no plugin" if not wired.plugins else f"{len(wired.plugins)} plugins of ours"
        yield warn(f"{harness.title}: {kind}", again)
    for entry in wired.plugins:
        url, _ = _pair(entry)
        if url.startswith("file://") and not _path_of(url).exists():
            yield fail(f"{harness.title}: the plugin {_path_of(url)} is gone", again)
            continue
        command = _plugin_command(entry)
        broken = list(_dangling(command)) if command else []
        for sentence in broken:
            yield fail(f"{harness.title}: {sentence}", again)
        if command not in wired.trusted:
            yield from _not_run(harness, [command], again)
        elif command and not broken:
            yield from _answers(harness, [f"{command} opencode UserPromptSubmit"])


def _not_run(harness: Harness, commands: list[str], again: str) -> Iterator[Finding]:
    if commands:
        what = f"hooks in the settings of this folder are not what install writes, and were not run ({len(commands)})"
        yield warn(f"{harness.title}: {what}", f"look at them; {again} --project")


def _answers(harness: Harness, commands: list[str]) -> Iterator[Finding]:
    if not commands:
        return
    for script in sorted({script for command in commands for script in _foreign(command)}):
        again = f"memory-mcp install {harness.name}"
        yield warn(f"{harness.title}: {script} belongs to another installation than this one", again)
    with ThreadPoolExecutor(max_workers=2) as pool:
        runs = list(pool.map(run, commands))
    bad = [sentence for sentence, _ in runs if sentence]
    for sentence in sorted(set(bad)):
        yield fail(f"{harness.title}: {sentence}", f"memory-mcp install {harness.name}")
    slowest = max(seconds for _, seconds in runs)
    if not bad and slowest > BUDGET_SECONDS:
        yield warn(f"{harness.title}: a hook takes {slowest:.1f} s", "look at the service; hooks end by themselves")
    elif not bad:
        said = f"{len(runs)} hooks run" if len(runs) > 1 else "the hook runs"
        yield ok(f"{harness.title}: {said}, the slowest in {slowest * 1000:.0f} ms")


def run(command: str) -> tuple[str, float]:
    """A hook as the program runs it, with an event that asks for nothing: (what is wrong, seconds)."""
    event = {"hook_event_name": _event(command), "session_id": SESSION, "sessionId": SESSION, "cwd": "/", "prompt": ""}
    began = time.monotonic()
    try:
        done = subprocess.run(  # noqa: S602 - as the agent program runs what stands in its settings
            command.replace(" --autostart", ""),
            shell=True,
            input=json.dumps(event).encode(),
            capture_output=True,
            timeout=PATIENCE_SECONDS,
            env=_environment(),
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"a hook does not end within {PATIENCE_SECONDS:.0f} s", PATIENCE_SECONDS
    seconds = time.monotonic() - began
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        return f"a hook ends with exit code {done.returncode}{f' ({said[-1]})' if said else ''}", seconds
    return ("" if _is_answer(done.stdout) else "a hook prints what is no JSON object"), seconds


def _environment() -> dict[str, str]:
    """Without what would make a hook start a service, or do nothing."""
    left_out = ("MEMORY_HOOK_ACTIVE", "MEMORY_PLUGIN_AUTOSTART")
    return {name: value for name, value in os.environ.items() if name not in left_out}


def _is_answer(output: bytes) -> bool:
    try:
        return not output.strip() or isinstance(json.loads(output), dict)
    except ValueError:
        return False


def _server(harness: Harness, wired: Wired, wiring: Wiring, again: str) -> Iterator[Finding]:
    if len(wired.servers) != 1:
        kind = "no MCP server" if not wired.servers else f"{len(wired.servers)} MCP servers of ours"
        yield warn(f"{harness.title}: {kind}", again)
    for server in wired.servers:
        url = server.get("url") or server.get("httpUrl")
        if url is None:
            command = server["command"][0] if isinstance(server["command"], list) else server["command"]
            if Path(command).is_absolute() and not Path(command).exists():
                yield fail(f"{harness.title}: the MCP server {command} is gone", again)
            else:
                yield ok(f"{harness.title}: MCP by stdio")
        elif url != wiring.mcp_url:
            yield fail(f"{harness.title}: MCP asks {url}, the service is at {wiring.mcp_url}", again)
        elif wiring.authenticated and not _has_token(server):
            yield fail(f"{harness.title}: MCP sends no token, but authentication is on", again)
        else:
            yield ok(f"{harness.title}: MCP by HTTP")


def _has_token(server: Mapping[str, Any]) -> bool:
    return bool({"headers", "bearer_token_env_var", "bearerTokenEnvVar"} & server.keys())


def _dangling(command: str) -> Iterator[str]:
    """What a command names that is not there any more."""
    try:
        words = shlex.split(command)
    except ValueError:
        yield f"the command of a hook cannot be read: {command}"
        return
    for path in filter(None, (words[0] if words[0].startswith("/") else "", _script(words))):
        if not Path(path).exists():
            yield f"{path} of a hook is gone"
            return


def _script(words: list[str]) -> str:
    return next((word for word in words if word.endswith("hook.py")), "")


def _foreign(command: str) -> set[str]:
    """The hook.py of another installation."""
    script = _script(shlex.split(command))
    return {script} if script and Path(script).resolve() != here.HOOK.resolve() else set()


def _event(command: str) -> str:
    found = ours.HOOK_COMMAND.search(command)
    if found:
        return found["event"]
    return command.rpartition("event=")[2].partition("&")[0] if "event=" in command else ""


def _parsed(path: Path) -> Any:
    if not path.exists():
        return {}
    text = path.read_text(encoding="utf-8")
    return toml.loads(text) if path.suffix == ".toml" else jsonc.loads(text)


def _servers(value: Any, urls: frozenset[str]) -> Iterator[dict[str, Any]]:
    if ours.is_server(value, urls):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from _servers(one, urls)


def _listed(data: Any, name: str) -> list[Any]:
    found = jsonc.at(data, (name,))
    return found if isinstance(found, list) else []


def _pair(entry: Any) -> tuple[str, Any]:
    """The address of a plugin and its options, in each of the forms that opencode takes."""
    if isinstance(entry, dict):
        return entry["package"], entry.get("options")
    return (entry, None) if isinstance(entry, str) else (entry[0], entry[1] if len(entry) > 1 else None)


def _plugin_command(entry: Any) -> str:
    """The hook command among the options of a plugin; empty if there is none."""
    _, options = _pair(entry)
    command = options.get("hook") if isinstance(options, dict) else None
    return shlex.join(map(str, command)) if isinstance(command, list) else ""


def _path_of(url: str) -> Path:
    return Path(unquote(url.removeprefix("file://")))
