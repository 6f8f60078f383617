"""An import of the own archive: line by line, a batch a transaction, the chains joined at the end."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from memories.errors import Forbidden, Rejected
from memories.principal import ANYONE, Principal
from memories.transfer import archive, restoring
from memories.transfer.archive import ConflictEntry, MemoryEntry
from memories.transfer.report import Flaw, Tally
from memories.transfer.source import Source

MOST_ROWS = 100
MOST_CHARS = 1_000_000
"""Of a batch: nobody else writes while it is written."""


@dataclass
class Restoration:
    """One import. `overrides`: scope and project that every memory goes to instead of its own."""

    actor: str
    tally: Tally
    now: datetime
    overrides: Mapping[str, str]
    principal: Principal = ANYONE
    dry_run: bool = False
    _renew: bool = False
    _batch: list[tuple[str, MemoryEntry]] = field(default_factory=list)
    _chars: int = 0
    _chain: list[tuple[str, str, str]] = field(default_factory=list)
    _foreseen: set[str] = field(default_factory=set)

    def run(self, source: Source) -> None:
        """Raises Rejected when the first line is no header of an archive."""
        lines = iter(source.lines())
        _, first = next(lines, ("", {}))
        if isinstance(first, Flaw):
            raise Rejected(f"{source.name} is no archive. {first}")
        self._renew = archive.holds(first) == archive.EXPIRED
        for place, value in lines:
            found = value if isinstance(value, Flaw) else self._entry(place, value)
            if isinstance(found, Flaw):
                self.tally.flaw(found)
            elif isinstance(found, MemoryEntry):
                self._take(place, found)
            elif isinstance(found, ConflictEntry):
                self._take_conflict(place, found)
        self._flush()
        self._link()

    def _entry(self, place: str, value: Mapping[str, Any]) -> MemoryEntry | ConflictEntry | Flaw | None:
        if value.get("format") == archive.FORMAT:  # archives may be joined
            return None
        here = {name: text for name, text in self.overrides.items() if name == "scope" or value.get("type") == "memory"}
        try:
            found = archive.entry({**value, **here}, now=self.now)
            self.principal.scope(found.scope, default="")
        except (Rejected, Forbidden) as error:
            return Flaw(place, str(error))
        return found

    def _take(self, place: str, entry: MemoryEntry) -> None:
        self._batch.append((place, entry))
        self._chars += len(entry.memory.content)
        if len(self._batch) >= MOST_ROWS or self._chars >= MOST_CHARS:
            self._flush()

    def _flush(self) -> None:
        batch, self._batch, self._chars = self._batch, [], 0
        entries = [entry for _, entry in batch]
        if self.dry_run:
            outcomes = restoring.foresee(entries, renew=self._renew, now=self.now)
            self._foreseen.update(entry.memory.uid for entry in entries)
        else:
            outcomes = restoring.restore(entries, actor=self.actor, renew=self._renew, now=self.now)
        for (place, entry), outcome in zip(batch, outcomes, strict=True):
            self.tally.add(outcome, place=place, redacted=entry.redacted)
            if entry.successor and outcome.status in ("created", "refreshed", "unchanged"):
                self._chain.append((entry.memory.scope, entry.memory.uid, entry.successor))

    def _take_conflict(self, place: str, entry: ConflictEntry) -> None:
        self._flush()
        if self.dry_run:
            self.tally.add(restoring.foresee_conflict(entry, among=self._foreseen), place=place, conflict=True)
        else:
            self.tally.add(restoring.restore_conflict(entry), place=place, conflict=True)

    def _link(self) -> None:
        missing = 0 if self.dry_run else restoring.link(self._chain)
        if missing:
            self.tally.remark(f"{missing:,} superseded memories name a newer version that is not here.")
