"""Which project a working directory belongs to. Never runs git: its configuration can run anything."""

import os
import re
import stat
import tempfile
from itertools import islice
from pathlib import Path, PurePath
from urllib.parse import unquote

from memories.cleaning import clean_label

MAX_PROJECT_CHARS = 200
LONGEST_PATH = 4096
"""No system opens a longer one."""
_MAX_BYTES = 64 * 1024
_MAX_LEVELS = 64
_TEMPORARY = ("/tmp", "/var/tmp", "/private/tmp")  # noqa: S108 (names to recognise, nothing is written there)

_SECTION = re.compile(r'\s*\[\s*(?P<name>[\w.-]+)\s*(?:"(?P<sub>(?:[^"\\]|\\.)*)"\s*)?\](?P<rest>.*)')
_VARIABLE = re.compile(r"\s*(?P<name>[A-Za-z][\w-]*)\s*=\s*(?P<value>.*)")
_VALUE_PART = re.compile(r'"(?P<quoted>(?:[^"\\]|\\.)*)"?|\\(?P<escaped>.)|(?P<comment>[#;].*)|(?P<plain>[^"\\#;]+)')
_ESCAPE = re.compile(r"\\(.)")
_SCP_LIKE = re.compile(r"(?:[^/:\[]*\[[^/\]]*\]|[^/:]+):(?P<path>.*)", re.DOTALL)
_WINDOWS_DRIVE = re.compile(r"[A-Za-z]:/")


class _NoRepositoryError(Exception):
    """What stands here is no repository that we may read."""


def project_of(cwd: str | None) -> str:
    """`owner/name` of the repository around an absolute path, else the last two components, else ""."""
    if not cwd or "\0" in cwd or len(cwd) > LONGEST_PATH or not Path(cwd).is_absolute():
        return ""
    try:
        folder = Path(os.path.realpath(cwd))
        return clean_label(_name_of(folder))[:MAX_PROJECT_CHARS].strip()
    except (OSError, ValueError):
        return ""


def _name_of(folder: Path) -> str:
    for root in (folder, *islice(folder.parents, _MAX_LEVELS - 1)):
        try:
            name = None if _holds_everything(root) else _repository_name(root)
        except (_NoRepositoryError, OSError, ValueError):
            continue
        if name:
            return name
    return "" if _holds_everything(folder) or _is_temporary(folder) else _last_two(folder)


def _holds_everything(folder: Path) -> bool:
    """Home and `/`: a repository there (dotfiles) would swallow every project below it: it does not count."""
    home = os.path.realpath(os.path.expanduser("~"))  # noqa: PTH111 (Path raises where there is no home)
    return folder in (Path(home), Path(folder.anchor))


def _is_temporary(folder: Path) -> bool:
    places = (*_TEMPORARY, tempfile.gettempdir())
    return any(_is_inside(folder, place) or _is_inside(folder, os.path.realpath(place)) for place in places)


def _is_inside(folder: Path, place: str) -> bool:
    """Quick for a path of thousands of folders too, which `is_relative_to` is not."""
    parts = PurePath(place).parts
    return folder.parts[: len(parts)] == parts


def _repository_name(root: Path) -> str | None:
    """The name of the repository whose working tree begins here; None if none does."""
    git = root / ".git"
    try:
        state = git.stat()
    except OSError:
        return None
    if stat.S_ISDIR(state.st_mode):
        _require_ours(state)
        config = _read(git / "config") if os.path.lexists(git / "config") else ""
    else:
        git, root = _linked(git)
        config = _read(git / "config")
    url = _origin(config)
    return (_owner_and_name(url, root) if url else "") or _last_two(root)


def _linked(link: Path) -> tuple[Path, Path]:
    """Of a `.git` file: the folder that holds `config`, and the root that names it if `config` does not."""
    first = _read(link).partition("\n")[0].strip()
    if not first.startswith("gitdir:"):
        raise _NoRepositoryError
    git = Path(os.path.realpath(link.parent / first.removeprefix("gitdir:").strip()))
    try:
        common = Path(os.path.realpath(git / _read(git / "commondir").strip()))
    except FileNotFoundError:  # a submodule, or a repository with its folder elsewhere
        return git, link.parent
    return common, common.parent if common.name.startswith(".") else common.with_name(common.name.removesuffix(".git"))


def _read(path: Path) -> str:
    """A small regular file of ours; never a device, a pipe that blocks, or the target of a link."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    with open(os.open(path, flags), "rb") as file:  # noqa: PTH123 (a descriptor)
        state = os.fstat(file.fileno())
        if not stat.S_ISREG(state.st_mode) or state.st_size > _MAX_BYTES:
            raise _NoRepositoryError
        _require_ours(state)
        content = file.read(_MAX_BYTES + 1)
    if len(content) > _MAX_BYTES:
        raise _NoRepositoryError
    return content.decode("utf-8-sig", "surrogateescape")


def _require_ours(state: os.stat_result) -> None:
    if hasattr(os, "getuid") and state.st_uid != os.getuid():
        raise _NoRepositoryError


def _origin(config: str) -> str:
    """The first `url` of `[remote "origin"]`."""
    inside = False
    for line in re.sub(r"\\\r?\n", "", config).split("\n"):
        section = _SECTION.match(line)
        if section:
            inside = _is_origin(section)
            line = section["rest"]  # noqa: PLW2901 (a variable may stand on the line of its section)
        variable = _VARIABLE.match(line) if inside else None
        if variable and variable["name"].lower() == "url":
            return _value(variable["value"])
    return ""


def _is_origin(section: re.Match[str]) -> bool:
    if section["sub"] is None:
        return section["name"].lower() == "remote.origin"
    return section["name"].lower() == "remote" and _ESCAPE.sub(r"\1", section["sub"]) == "origin"


def _value(written: str) -> str:
    parts = []
    for part in _VALUE_PART.finditer(written):
        if part["comment"] is not None:
            break
        quoted = part["quoted"]
        parts.append(part["escaped"] or part["plain"] or _ESCAPE.sub(r"\1", quoted or ""))
    return "".join(parts).strip()


def _owner_and_name(url: str, root: Path) -> str:
    parts = [part for part in _path_of(url, root).split("/") if part not in ("", ".", "..", "~", "_git")]
    if parts and parts[-1].lower() == ".git":
        parts.pop()
    if parts and parts[-1].lower().endswith(".git"):
        parts[-1] = parts[-1][: -len(".git")]
    return "/".join(parts[-2:]).casefold()


def _path_of(url: str, root: Path) -> str:
    """The path in what git takes for a remote: a URL, `host:path`, or a folder."""
    url = url.replace("\\", "/")
    _, scheme, rest = url.partition("://")
    if scheme:
        return unquote(rest.partition("/")[2])
    if _WINDOWS_DRIVE.match(url):
        return url[2:]
    remote = _SCP_LIKE.match(url)
    if remote:
        return remote["path"]
    return url if url.startswith("/") else os.path.normpath(root / url)


def _last_two(folder: PurePath) -> str:
    names = folder.parts[1:] if folder.anchor else folder.parts
    return "/".join(names[-2:])
