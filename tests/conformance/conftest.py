"""The official tools, and the services they are pointed at."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests import service
from tests.requirements import need
from tests.service import Home, Service

EVERYTHING = Path(__file__).with_name("everything.py")


@dataclass(frozen=True)
class Tools:
    """Programs for Node.js, installed by `.ci/mcp-tools`."""

    folder: Path

    def run(self, program: str, *arguments: object, home: Home) -> subprocess.CompletedProcess[str]:
        inspector = {"MCP_CATALOG_PATH": str(home.path / "catalog.json"), "NO_COLOR": "1"}
        return subprocess.run(
            [self.folder / "bin/node", self.folder / "node_modules/.bin" / program, *map(str, arguments)],
            env=home.environment(**inspector),
            cwd=home.path,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=120,
            check=False,
        )


@pytest.fixture(scope="session")
def tools() -> Tools:
    folder = Path(os.environ.get("MEMSITE_MCP_TOOLS", "/nowhere"))
    need((folder / "installed").exists(), "MEMSITE_MCP_TOOLS is not the folder that .ci/mcp-tools fills")
    return Tools(folder)


@pytest.fixture(scope="session")
def served(tools: Tools, prepared: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """The home of the running product."""
    home = at_home(prepared, tmp_path_factory)
    assert home.start().url
    yield home
    home.end()


@pytest.fixture(scope="session")
def unserved(tools: Tools, prepared: Path, tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A home where no service runs."""
    return at_home(prepared, tmp_path_factory)


@pytest.fixture(scope="session")
def everything(tools: Tools, prepared: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """The home of the running product with the tools that scenarios call."""
    home = at_home(prepared, tmp_path_factory)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(service, "COMMAND", [sys.executable, str(EVERYTHING)])
        assert home.start().url
    yield home
    home.end()


def at_home(prepared: Path, factory: pytest.TempPathFactory) -> Home:
    home = Home(factory.mktemp("home"))
    shutil.copytree(prepared, home.data)
    return home


def mcp_url(running: Service) -> str:
    return str(running.line["mcp_url"])
