"""What became of each entry of an import."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, get_args

type Status = Literal["created", "refreshed", "unchanged", "forgotten", "expired", "skipped", "bad"]
STATUSES: tuple[Status, ...] = get_args(Status.__value__)
MEANINGS = {
    "forgotten": "forgotten here, and left so (`restore` brings them back)",
    "expired": "expired meanwhile, and left out",
}
"""How a person is told a status that does not say enough."""

MOST_FLAWS = 1000
"""Flaws that a report keeps; all are counted, and all are told to who listens."""


@dataclass(frozen=True)
class Outcome:
    """`forgotten`: was forgotten here and stays so. `reason` is a sentence for what is skipped or bad."""

    status: Status
    reason: str = ""


@dataclass(frozen=True)
class Flaw:
    """An entry that could not be imported, and where it stands: a line, a row, a file."""

    place: str
    reason: str

    def __str__(self) -> str:
        return f"{self.place}: {self.reason}"


@dataclass(frozen=True)
class Remark:
    """What a person should know of a file and is no fault of one entry."""

    text: str


@dataclass(frozen=True)
class Report:
    """Counts by status, types of secrets that were redacted, what was wrong, and what a person should know."""

    format: str
    dry_run: bool = False
    counts: Counter[str] = field(default_factory=Counter)
    conflicts: Counter[str] = field(default_factory=Counter)
    redacted: Counter[str] = field(default_factory=Counter)
    flaws: tuple[Flaw, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def bad(self) -> int:
        return self.counts["bad"] + self.conflicts["bad"]

    @property
    def total(self) -> int:
        return self.counts.total() + self.conflicts.total()


class Tally:
    """A report in the making."""

    def __init__(self, *, on_flaw: Callable[[Flaw], None] | None, on_entry: Callable[[int], None] | None) -> None:
        self.counts: Counter[str] = Counter()
        self.conflicts: Counter[str] = Counter()
        self.redacted: Counter[str] = Counter()
        self.remarks: dict[str, None] = {}
        self._flaws: list[Flaw] = []
        self._on_flaw = on_flaw or (lambda _flaw: None)
        self._on_entry = on_entry or (lambda _done: None)

    def add(self, outcome: Outcome, *, place: str, redacted: tuple[str, ...] = (), conflict: bool = False) -> None:
        (self.conflicts if conflict else self.counts)[outcome.status] += 1
        if outcome.status in ("created", "refreshed"):
            self.redacted.update(redacted)
        if outcome.reason and outcome.status in ("bad", "skipped"):
            flaw = Flaw(place, outcome.reason)
            self._on_flaw(flaw)
            self._flaws += [flaw][: MOST_FLAWS - len(self._flaws)]
        self._on_entry(self.counts.total() + self.conflicts.total())

    def flaw(self, flaw: Flaw) -> None:
        self.add(Outcome("bad", flaw.reason), place=flaw.place)

    def remark(self, text: str) -> None:
        self.remarks[text] = None

    def report(self, *, format: str, dry_run: bool) -> Report:  # noqa: A002 - as the option is called
        return Report(
            format, dry_run, self.counts, self.conflicts, self.redacted, tuple(self._flaws), tuple(self.remarks)
        )
