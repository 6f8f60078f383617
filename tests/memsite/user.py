"""A user with a home of their own, and the commands as they run them."""

import io
from dataclasses import dataclass
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

VARIABLES = ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "KIMI_CODE_HOME", "COPILOT_HOME", "XDG_CONFIG_HOME", "MEMORY_TOKEN")
OWN = ("install.json", "install.lock")


@dataclass
class User:
    home: Path
    programs: Path
    """The only folder of the PATH."""

    def run(self, *arguments: str) -> str:
        """What a command says; it must succeed."""
        out = io.StringIO()
        call_command(*arguments, stdout=out, stderr=out)
        return out.getvalue()

    def fails(self, *arguments: str) -> str:
        """What a command says that must not succeed."""
        out = io.StringIO()
        with pytest.raises(CommandError) as error:
            call_command(*arguments, stdout=out, stderr=out)
        return out.getvalue() + str(error.value)

    def files(self) -> dict[str, bytes]:
        """Every file of the home but our own record."""
        found = sorted(path for path in self.home.rglob("*") if path.is_file())
        return {str(path.relative_to(self.home)): path.read_bytes() for path in found if path.name not in OWN}

    def write(self, name: str, text: str) -> Path:
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        return path

    def has(self, program: str, script: str = "") -> Path:
        """A program in the PATH, as a shell script."""
        self.programs.mkdir(exist_ok=True)
        path = self.programs / program
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o700)
        return path
