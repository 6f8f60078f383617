"""Node.js with the plugin's packages, and the real opencode."""

import contextlib
import hashlib
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.opencode_plugin.model import Model
from tests.opencode_plugin.opencode import Opencode
from tests.requirements import need
from tests.service import Home, Service

PLUGIN = Path(__file__).parents[2] / "opencode-plugin"
FACT = "The deploy key of the shop rotates on Tuesdays."
OLDEST_NODE = (22, 18)  # runs TypeScript as it is
USER = Path(pwd.getpwuid(os.getuid()).pw_dir)  # of the person: HOME is an empty folder in tests
CACHE = USER / ".cache/memsite-ci/opencode-plugin"


@dataclass(frozen=True)
class Npm:
    """npm in the plugin's folder, or in a copy of it."""

    environment: Mapping[str, str]

    def __call__(self, *arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["npm", *arguments],
            cwd=folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=300,
            check=False,
        )


@pytest.fixture(scope="session")
def npm() -> Npm:
    # The folder of .ci/mcp-tools has a Node.js that is new enough where the system's is not.
    folders = [str(Path(os.environ.get("MEMSITE_MCP_TOOLS", "/nowhere")) / "bin"), os.environ.get("PATH", "")]
    path = os.pathsep.join(folders)
    node = shutil.which("node", path=path)
    need(node and _version(node) >= OLDEST_NODE, "no Node.js 22.18 or newer (in PATH, or by .ci/mcp-tools)")
    need(shutil.which("npm", path=path), "no npm in PATH")
    quiet = {"npm_config_fund": "false", "npm_config_audit": "false"}
    return Npm({**os.environ, **quiet, "HOME": str(USER), "PATH": path})


@pytest.fixture(scope="session")
def plugin(npm: Npm, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the plugin with the packages that its lock file names."""
    lock = (PLUGIN / "package-lock.json").read_bytes()
    packages = CACHE / hashlib.sha256(lock).hexdigest()[:16]
    if not packages.exists():
        _install(npm, packages)
    copy = tmp_path_factory.mktemp("plugin") / "opencode-plugin"
    shutil.copytree(PLUGIN, copy, ignore=shutil.ignore_patterns("node_modules"))
    (copy / "node_modules").symlink_to(packages / "node_modules")
    return copy


@pytest.fixture(scope="session")
def binary() -> Path:
    folder = Path(os.environ.get("MEMSITE_AGENTS", "/nowhere")) / "oc/node_modules"
    found = next(iter(sorted(folder.glob("opencode-*/bin/opencode"))), None)
    need(found, "MEMSITE_AGENTS is not the folder that .ci/agents fills")
    assert found is not None
    return found


@pytest.fixture(scope="module")
def model() -> Iterator[Model]:
    with contextlib.closing(Model()) as started:
        yield started


@pytest.fixture(scope="module")
def user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """The home that a memory service and opencode share."""
    home = Home(tmp_path_factory.mktemp("user"))
    yield home
    home.end()


@pytest.fixture(scope="module")
def running(user: Home) -> Service:
    service = user.start()
    assert service.keep(FACT, project="*") == 201
    return service


@pytest.fixture(scope="module")
def opencode(binary: Path, user: Home, running: Service, model: Model) -> Iterator[Opencode]:
    """opencode with the service in the same home, and a model that stands for a provider."""
    assert running.url
    with contextlib.closing(Opencode(binary, user, model)) as program:
        program.start(tool_capture=["shell"])
        yield program


def _version(node: str) -> tuple[int, ...]:
    answer = subprocess.run([node, "--version"], capture_output=True, text=True, encoding="utf-8", check=False)
    major, minor = answer.stdout.strip().lstrip("v").split(".")[:2]
    return int(major), int(minor)


def _install(npm: Npm, packages: Path) -> None:
    """Several test processes may do this at once: the first one to finish wins."""
    CACHE.mkdir(parents=True, exist_ok=True)
    place = Path(tempfile.mkdtemp(dir=CACHE))
    for name in ("package.json", "package-lock.json"):
        shutil.copy(PLUGIN / name, place)
    answer = npm("ci", "--ignore-scripts", folder=place)
    if answer.returncode == 0:
        with contextlib.suppress(OSError):
            place.rename(packages)
    shutil.rmtree(place, ignore_errors=True)
    need(packages.exists(), f"npm ci failed: {answer.stderr.strip()[-300:]}")
