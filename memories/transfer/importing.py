"""Bringing memories in. The own archive is restored as it was; every other format goes through `remember()`."""

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType

from django.db import DatabaseError

from memories import clock
from memories.conf import config
from memories.errors import Rejected, from_database
from memories.places import label
from memories.principal import ANYONE, Principal
from memories.transfer.detect import OWN, format_of
from memories.transfer.keeping import Keeping
from memories.transfer.own import Restoration
from memories.transfer.readers import bullets, graph, markdown, mem0, sqlite_file
from memories.transfer.report import Flaw, Remark, Report, Tally
from memories.transfer.source import Source

READERS: dict[str, ModuleType] = {
    "sqlite": sqlite_file,
    "mcp-graph": graph,
    "mem0": mem0,
    "markdown": markdown,
    "bullets": bullets,
}
FORMATS = ("auto", OWN, *READERS)


@dataclass(frozen=True, kw_only=True)
class Target:
    """Where what comes in goes. `scope` and `project`, if given, replace those that the file names.

    What names a scope out of reach of the principal is bad.
    """

    actor: str
    scope: str = ""
    project: str | None = None
    principal: Principal = ANYONE
    dry_run: bool = False


def bring_in(
    source: Source,
    target: Target,
    *,
    format: str = "auto",  # noqa: A002 - as the option is called
    on_flaw: Callable[[Flaw], None] | None = None,
    on_entry: Callable[[int], None] | None = None,
) -> Report:
    """Import everything of a source; what is bad is told, counted and passed over. May be repeated, also at once.

    Raises Rejected for a source that cannot be read at all. What was imported before an error stays.
    """
    if format not in FORMATS:
        raise Rejected(f"format {format[:40]!r} is unknown; it is one of {', '.join(FORMATS)}.")
    name = format_of(source) if format == "auto" else format
    tally = Tally(on_flaw=on_flaw, on_entry=on_entry)
    try:
        _own(source, target, tally) if name == OWN else _foreign(source, target, tally, READERS[name])
    except DatabaseError as error:
        raise from_database(error) from error
    return tally.report(format=name, dry_run=target.dry_run)


def _own(source: Source, target: Target, tally: Tally) -> None:
    overrides = {} if target.project is None else {"project": label(target.project, name="project").removeprefix("*")}
    if target.scope:
        overrides["scope"] = target.principal.scope(label(target.scope, name="scope"), default="")
    Restoration(target.actor, tally, clock.now(), overrides, target.principal, dry_run=target.dry_run).run(source)


def _foreign(source: Source, target: Target, tally: Tally, reader: ModuleType) -> None:
    scope = target.principal.scope(target.scope, default=config().scope)
    keeping = Keeping(target.actor, tally, clock.now(), scope, target.project, dry_run=target.dry_run)
    for found in reader.read(source, now=keeping.now):
        if isinstance(found, Flaw):
            tally.flaw(found)
        elif isinstance(found, Remark):
            tally.remark(found.text)
        else:
            keeping.take(found)
