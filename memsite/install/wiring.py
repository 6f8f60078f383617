"""What connects an agent program with the memory: the hook command, the MCP server, the opencode plugin."""

import re
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

from memsite.env import Env
from memsite.guard import local_url
from memsite.install.jsonc import Json

PACKAGE = Path(__file__).parents[1]
HOOK = PACKAGE / "hook.py"
TOKEN_VARIABLE = "MEMORY_TOKEN"  # noqa: S105 - the name of a variable
PLAIN = re.compile(r"[\w@%+=:,./ -]+", re.ASCII)


def plugin_folder() -> Path:
    """Where the opencode plugin is: in the wheel beside this package, in a clone at its top."""
    packed = PACKAGE / "opencode_plugin"
    return packed if packed.is_dir() else PACKAGE.parent / "opencode-plugin"


@dataclass(frozen=True, kw_only=True)
class Wiring:
    """Absolute paths and addresses of this installation. `discovery` is empty where the clients' default holds."""

    python: str
    hook: str
    plugin: str
    discovery: str
    mcp_url: str
    stdio: bool
    server: tuple[str, ...]
    server_env: dict[str, str]
    authenticated: bool

    def hook_argv(self, harness: str, event: str) -> list[str]:
        discovery = ["--discovery", self.discovery] if self.discovery else []
        return [*self.interpreter(), harness, event, *discovery, "--autostart"]

    def interpreter(self) -> list[str]:
        return [self.python, "-I", "-S", self.hook]

    def hook_command(self, harness: str, event: str) -> str:
        """For a POSIX shell."""
        argv = self.hook_argv(harness, event)
        paths = {self.python, self.hook, self.discovery}
        return " ".join(_quoted(one) if one in paths else one for one in argv)

    def powershell_command(self, harness: str, event: str) -> str:
        argv = self.hook_argv(harness, event)
        return "& " + " ".join("'" + one.replace("'", "''") + "'" for one in argv)

    def plugin_entry(self) -> list[Json]:
        """For the list of plugins in opencode.json."""
        options = {"hook": self.interpreter(), "command": list(self.server[:-1]), "autostart": True}
        if self.discovery:
            options["discovery"] = self.discovery
        return [Path(self.plugin).as_uri(), options]

    def named_plugin(self) -> Json:
        """The same as opencode 2 writes it."""
        url, options = self.plugin_entry()
        return {"package": url, "options": options}


def wiring(env: Env, *, stdio: bool, authenticated: bool, default_discovery: Path) -> Wiring:
    """How this installation, with these settings, is reached."""
    discovery = env.discovery if env.discovery != default_discovery else None
    default = Env.model_fields["db_path"].get_default(call_default_factory=True)
    elsewhere = env.database != Path(default).expanduser()
    return Wiring(
        python=sys.executable,
        hook=str(HOOK),
        plugin=str(plugin_folder()),
        discovery=str(discovery or ""),
        mcp_url=local_url(env.host, env.port) + "/mcp",
        stdio=stdio,
        server=(*program(), "--stdio"),
        server_env={"MEMORY_DB_PATH": str(env.database)} if elsewhere else {},
        authenticated=authenticated,
    )


def program() -> tuple[str, ...]:
    """The command `memory-mcp` of this installation, whatever the PATH of who runs it."""
    script = Path(sys.executable).with_name("memory-mcp")
    return (str(script),) if script.is_file() else (sys.executable, "-m", "memsite.cli")


def _quoted(path: str) -> str:
    return f'"{path}"' if PLAIN.fullmatch(path) else shlex.quote(path)
