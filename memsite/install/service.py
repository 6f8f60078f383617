"""The service started at login: a systemd user unit on Linux, a launchd agent on macOS."""

import plistlib
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from memsite.install.places import Places

NAME = "memory-mcp"
LABEL = "local.memory-mcp"
LONGEST_SECONDS = 30

type Commands = tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Unit:
    """A file, and the commands by which the system takes it up, starts it, starts it anew, and lets go of it."""

    path: Path
    text: str
    enable: Commands
    start: Commands
    restart: Commands
    disable: Commands


def unit(places: Places, command: Sequence[str], *, platform: str = sys.platform, log: Path) -> Unit | None:
    """How this system starts a program at login; None where it is neither Linux nor macOS."""
    if platform == "darwin":
        return _agent(places, command, log)
    return _systemd(places, command) if platform.startswith("linux") else None


def run(commands: Sequence[Sequence[str]]) -> str:
    """Run each; the complaint of the first that fails, else nothing."""
    for command in commands:
        try:
            done = subprocess.run(  # noqa: S603 - constants and a path of ours
                list(command), capture_output=True, text=True, timeout=LONGEST_SECONDS, check=False
            )
        except FileNotFoundError:
            return f"{command[0]} is not installed"
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"{' '.join(command)}: {error}"
        if done.returncode:
            said = (done.stderr or done.stdout).strip().splitlines()
            return f"{' '.join(command)}: {said[0] if said else f'exit {done.returncode}'}"
    return ""


def _systemd(places: Places, command: Sequence[str]) -> Unit:
    control = ("systemctl", "--user")
    text = f"""[Unit]
Description=Memory for coding agents (memory-mcp)
StartLimitIntervalSec=120
StartLimitBurst=5

[Service]
ExecStart={" ".join(map(_systemd_word, command))}
Restart=on-failure
RestartSec=5

[Install]
WantedBy=default.target
"""
    return Unit(
        places.config() / f"systemd/user/{NAME}.service",
        text,
        enable=((*control, "daemon-reload"), (*control, "enable", NAME)),
        start=((*control, "start", NAME),),
        restart=((*control, "try-restart", NAME),),
        disable=((*control, "disable", "--now", NAME),),
    )


def _systemd_word(word: str) -> str:
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"'


def _agent(places: Places, command: Sequence[str], log: Path) -> Unit:
    path = places.home / f"Library/LaunchAgents/{LABEL}.plist"
    agent = {
        "Label": LABEL,
        "ProgramArguments": list(command),
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "StandardErrorPath": str(log),
    }
    text = plistlib.dumps(agent, sort_keys=False).decode("utf-8")
    return Unit(
        path,
        text,
        enable=(("launchctl", "load", "-w", str(path)),),
        start=(("launchctl", "start", LABEL),),
        restart=(("launchctl", "unload", str(path)), ("launchctl", "load", "-w", str(path))),
        disable=(("launchctl", "unload", "-w", str(path)),),
    )
