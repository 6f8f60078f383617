"""Settings of this shell that the other processes need too: agents and the login start the service without them."""

import tomllib
from collections.abc import Mapping
from pathlib import Path

import tomlkit

from memsite.env import Env, config_file, variable
from memsite.files import write_private

SECRET = frozenset(name for name in Env.model_fields if name.endswith(("token", "key")))


def unsaved(environ: Mapping[str, str], env: Env) -> dict[str, object]:
    """What the environment sets and config.toml says nothing about; never a token or a key."""
    known = _known(config_file(environ))
    set_here = (name for name in Env.model_fields if environ.get(variable(name)) and name not in {*known, *SECRET})
    return {name: _plain(getattr(env, name)) for name in set_here}


def contradicted(environ: Mapping[str, str], env: Env) -> list[str]:
    """Variables of the environment that config.toml sets to something else."""
    known = _known(config_file(environ))
    here = [name for name in known.keys() & Env.model_fields.keys() - SECRET if environ.get(variable(name))]
    return sorted(variable(name) for name in here if str(known[name]) != str(_plain(getattr(env, name))))


def save(environ: Mapping[str, str], settings: Mapping[str, object]) -> Path:
    """Add to config.toml; what else is in there stays as it is."""
    file = config_file(environ)
    document = tomlkit.parse(file.read_text(encoding="utf-8")) if file.exists() else tomlkit.document()
    for name, value in settings.items():
        document[name] = value
    write_private(file, tomlkit.dumps(document))
    return file


def _known(file: Path) -> dict[str, object]:
    return tomllib.loads(file.read_text(encoding="utf-8")) if file.exists() else {}


def _plain(value: object) -> object:
    if isinstance(value, tuple):
        return list(value)
    return value if isinstance(value, bool | int | float | str) else str(value)
