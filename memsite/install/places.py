"""Where a user keeps settings, by the environment."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Places:
    """`project` is the folder whose own settings are meant; None = those of the user."""

    environ: Mapping[str, str]
    home: Path
    project: Path | None = None

    @classmethod
    def of(cls, environ: Mapping[str, str], *, project: Path | None = None) -> "Places":
        return cls(environ, Path("~").expanduser(), project)

    def folder(self, variable: str, default: str) -> Path:
        """The folder that a variable names, else one in the home."""
        given = self.environ.get(variable, "").strip()
        return Path(given).expanduser().absolute() if given else self.home / default

    def config(self) -> Path:
        return self.folder("XDG_CONFIG_HOME", ".config")

    def data(self) -> Path:
        """Ours, whichever database is used."""
        return self.home / ".local/share/memory-mcp"

    def program(self, name: str) -> str | None:
        return shutil.which(name, path=self.environ.get("PATH"))
