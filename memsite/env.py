"""Configuration: the only reader of the environment and of config.toml.

`config.toml` holds the names below in lower case without the prefix (`port = 9000`); an environment variable of the
full name wins over it. Values are checked once, at the start, and never change while the process lives.
"""

import difflib
import os
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

PREFIX = "MEMORY_"
CLIENT_PREFIX = "MEMORY_PLUGIN_"
"""Read by hook.py and the opencode plugin, not by the service."""
_NEEDED_BY_JUDGE = {"http": ("judge_url", "judge_model"), "llama": ("judge_path",)}


class BadConfiguration(Exception):
    """One line that names the variable, its value and what is allowed."""


def _home(value: object) -> Path:
    if not isinstance(value, str | Path):
        raise ValueError("a path in quotes is needed")  # noqa: TRY004 - pydantic reports ValueError
    return Path(os.path.abspath(os.path.expanduser(value)))  # noqa: PTH100, PTH111 - resolve() would follow links


def _words(value: object) -> object:
    if isinstance(value, str):
        return tuple(word.strip() for word in value.split(",") if word.strip())
    return value


def _sqlite_only(value: str) -> str:
    if value and (not value.startswith("sqlite:///") or value.removeprefix("sqlite:///") in ("", ":memory:")):
        raise ValueError("only sqlite:///PATH is supported")
    return value


def _http_only(value: str) -> str:
    if value and not value.startswith(("http://", "https://")):
        raise ValueError("a URL that begins with http:// or https:// is needed")
    return value


def _for_a_header(value: str) -> str:
    if not (value.isascii() and value.isprintable()):
        raise ValueError("printable ASCII is needed, since it is sent in a header")
    return value


type Share = Annotated[float, Field(ge=0, le=1)]
type Days = Annotated[float, Field(ge=0, le=36500)]
type UserPath = Annotated[Path, BeforeValidator(_home)]
type Words = Annotated[tuple[str, ...], BeforeValidator(_words)]


class Env(BaseModel):
    """Every setting of the service. 0 switches off a floor, boost or gate."""

    model_config = ConfigDict(frozen=True, extra="ignore", str_strip_whitespace=True)
    # Django's settings ask each value for it on every access, and a model is slow to say that it has none.
    _mask_wrapped: ClassVar = True

    db_path: UserPath = Field(
        default=Path("~/.local/share/memory-mcp/memory.db"), validate_default=True, description="The SQLite file"
    )
    database_url: Annotated[str, AfterValidator(_sqlite_only)] = Field(
        default="", alias="DATABASE_URL", description="`sqlite:///PATH`, instead of MEMORY_DB_PATH"
    )
    scope: str = Field(default="default", min_length=1, max_length=200, description="Scope of a call that names none")
    host: str = Field(default="127.0.0.1", min_length=1, description="Address to listen on")
    port: int = Field(default=8765, ge=0, le=65535, description="Port to listen on; 0 = any free one")
    discovery_file: str = Field(
        default="", description="Where the address is published; empty = `<db>.server.json`, `off` = nowhere"
    )
    token: Annotated[str, AfterValidator(_for_a_header)] = Field(
        default="", repr=False, description="Owner's bearer token; setting it turns authentication on"
    )
    allowed_hosts: Words = Field(default=(), description="Further Host names to answer to, with commas between")
    model_path: UserPath | None = Field(
        default=None,
        description="GGUF embedding model; empty = one in `models/` beside the database, else keywords only",
    )
    device: Literal["cpu", "cuda"] = Field(
        default="cpu", description="Where the model runs; `cuda` falls back to `cpu`"
    )
    embed_url: Annotated[str, AfterValidator(_http_only)] = Field(
        default="",
        description="OpenAI-compatible server that embeds instead, up to and with `/v1`; texts are sent to it",
    )
    embed_model: str = Field(default="", description="Its model")
    embed_api_key: str = Field(default="", repr=False, description="Its key; no other key is ever sent")
    fusion: Literal["score", "rrf"] = Field(default="score", description="How the channels are mixed")
    rrf_k: int = Field(default=60, ge=1, le=1000, description="The constant of `rrf`")
    recall_min_cosine: Share | None = Field(
        default=None, description="Least cosine of what only vectors found; empty = the model's own"
    )
    dedup_sim: Share = Field(default=0.98, description="Least cosine of texts with the same words that are one memory")
    inject_min_relevance: Share = Field(
        default=0.55, description="Least relevance (0 to 1) of a memory that is put into a prompt"
    )
    inject_boost: float = Field(
        default=0.15, ge=0, le=1, description="How much having been injected before lifts a memory"
    )
    reinject_after: int = Field(
        default=20, ge=0, le=10_000, description="Prompts after which a memory may be injected again in a session"
    )
    conflict_sim: Share | None = Field(
        default=None, description="Least cosine of memories that may contradict each other; empty = the model's own"
    )
    judge: Literal["none", "llama", "http", "newest"] = Field(
        default="none",
        description="Who settles contradictions: `none` = the agent or a person, `llama` = a local model, `http` = a"
        " server, `newest` = the newest wins",
    )
    judge_url: Annotated[str, AfterValidator(_http_only)] = Field(
        default="",
        description="OpenAI-compatible server of the judge `http`, up to and with `/v1`; texts are sent to it",
    )
    judge_model: str = Field(default="", description="Its model")
    judge_api_key: str = Field(default="", repr=False, description="Its key; no other key is ever sent")
    judge_path: UserPath | None = Field(default=None, description="GGUF instruct model of the judge `llama`")
    judge_per_hour: int = Field(
        default=60, ge=0, le=1_000_000, description="Most requests an hour to the judge's server; 0 = no limit"
    )
    weight_recency: Share = Field(default=0.2, description="Share of its score that an old, idle artifact may lose")
    weight_frequency: Share = Field(default=0.05, description="Share that a much used artifact may gain")
    weight_confidence: Share = Field(default=0.2, description="Share that a memory of no confidence loses")
    half_life_days: Days = Field(default=60, description="Days in which an idle artifact loses half of that share")
    decay_after_days: Days = Field(default=30, description="Days an artifact may be idle before it loses anything")
    ttl_artifact_days: Days = Field(default=90, description="Days an unused artifact lives; 0 = for ever")
    ttl_compaction_days: Days = Field(default=0, description="The same for text about to be compacted")
    ttl_injection_days: Days = Field(
        default=90, description="Days that records of injections and of sessions are kept; 0 = for ever"
    )
    consolidation_interval_minutes: int = Field(
        default=1440, ge=0, le=525_600, description="Minutes between scheduled consolidations; 0 = never"
    )
    consolidation_min_episodic: int = Field(
        default=20,
        ge=0,
        description="Fewest episodic memories of a project that a scheduled consolidation begins with",
    )
    scheduler: bool = Field(
        default=False, description="Consolidate by the interval, and purge every hour, while the service runs"
    )
    maintenance_on_start: bool = Field(default=True, description="Purge what has expired when the service starts")
    redact_secrets: bool = Field(default=True, description="Replace keys and tokens before anything is stored")
    max_content_chars: int = Field(
        default=2_000_000, ge=100, le=50_000_000, description="Longest memory that is accepted"
    )

    @property
    def database(self) -> Path:
        """The SQLite file that is really used, absolute."""
        return _home(self.database_url.removeprefix("sqlite:///")) if self.database_url else self.db_path

    @property
    def model(self) -> Path | None:
        """The GGUF file of the embedding model; None = there is none."""
        if self.model_path is not None:
            return self.model_path
        return next(iter(sorted((self.database.parent / "models").glob("*.gguf"))), None)

    @property
    def discovery(self) -> Path | None:
        """Where the address of the running service is published; None = nowhere."""
        if self.discovery_file == "off":
            return None
        return _home(self.discovery_file) if self.discovery_file else beside(self.database, ".server.json")


def beside(database: Path, suffix: str) -> Path:
    """A file that belongs to a database: its name with a suffix."""
    return database.with_name(database.name + suffix)


def variable(name: str) -> str:
    """The environment variable of a field of Env."""
    return Env.model_fields[name].alias or PREFIX + name.upper()


def config_file(environ: Mapping[str, str]) -> Path:
    """`config.toml` in the user's configuration folder."""
    return _home(environ.get("XDG_CONFIG_HOME") or "~/.config") / "memory-mcp" / "config.toml"


def _from_file(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadConfiguration(f"{path} cannot be read: {error}.") from error


def _near_misses(names: Mapping[str, object], known: list[str], *, cutoff: float = 0.8) -> Iterator[str]:
    for name in names:
        close = difflib.get_close_matches(name, known, n=1, cutoff=cutoff)
        if close and name not in known:
            yield f"{name} is not a setting; did you mean {close[0]}?"


def _sentence(error: ValidationError) -> str:
    first = error.errors()[0]
    field = str(first["loc"][0])
    name = field if field in {f.alias for f in Env.model_fields.values()} else variable(field)
    value = "(hidden)" if name.endswith(("TOKEN", "KEY")) else repr(first["input"])
    return f"{name}={value} is not allowed: {first['msg'].removeprefix('Value error, ')}."


def read_env() -> Env:
    """The configuration of this process."""
    return load_env(os.environ)


def load_env(environ: Mapping[str, str]) -> Env:
    """Read config.toml, then the environment. Raises BadConfiguration with one line.

    A name that is nearly a setting's is warned of on stderr; any other unknown name is ignored.
    """
    variables = {variable(name): name for name in Env.model_fields}
    file = _from_file(config_file(environ))
    given: dict[str, Any] = {name: value for name, value in file.items() if name in Env.model_fields}
    given |= {field: environ[name] for name, field in variables.items() if environ.get(name, "").strip()}
    ours = {name: 1 for name in environ if name.startswith(PREFIX) and not name.startswith(CLIENT_PREFIX)}
    for warning in (*_near_misses(ours, list(variables)), *_near_misses(file, list(Env.model_fields), cutoff=0.7)):
        sys.stderr.write(f"memory-mcp: {warning}\n")
    try:
        env = Env.model_validate({Env.model_fields[name].alias or name: value for name, value in given.items()})
    except ValidationError as error:
        raise BadConfiguration(_sentence(error)) from None
    missing = [variable(name) for name in _NEEDED_BY_JUDGE.get(env.judge, ()) if not getattr(env, name)]
    if missing:
        raise BadConfiguration(f"MEMORY_JUDGE={env.judge!r} needs {' and '.join(missing)}.")
    return env


def settings_table() -> str:
    """The table of settings in README, as Markdown; a test compares the two."""
    rows = ["| variable | default | meaning |", "|---|---|---|"]
    for name, field in Env.model_fields.items():
        default = field.get_default()
        shown = "" if default in ("", (), None) else int(default) if isinstance(default, bool) else default
        rows.append(f"| `{variable(name)}` | {f'`{shown}`' if shown != '' else ''} | {field.description} |")
    return "\n".join(rows) + "\n"


if __name__ == "__main__":
    sys.stdout.write(settings_table())
