"""What decides whether a newer memory ends an older one."""

from dataclasses import dataclass
from typing import Protocol

from memories.models import Conflict

type Verdict = str
"""Conflict.Verdict.CONFIRMED or REJECTED."""


class JudgeFailed(Exception):
    """The judge gave no verdict that can be used, or not in time: then there is no conflict that it confirms."""


class JudgeAway(JudgeFailed):
    """The judge could not be asked at all now, about this case or any other."""


@dataclass(frozen=True)
class Case:
    """Two texts, the older first, and what they themselves say against each other ("" for nothing)."""

    older: str
    newer: str
    evidence: str


@dataclass(frozen=True)
class Ruling:
    verdict: Verdict
    reason: str


class Judge(Protocol):
    """`judges_everything`: also pairs that are only similar, without evidence. `is_slow`: it needs a model."""

    name: str
    judges_everything: bool
    is_slow: bool

    def rule(self, case: Case, *, patience: float) -> Ruling | None:
        """A verdict; None leaves the pair to a person or an agent. Raises JudgeFailed."""

    def summarise(self, texts: list[str], *, patience: float) -> str | None:
        """One text that says what all of them say; None if this judge cannot write. Raises JudgeFailed."""


class Nobody:
    """Leaves pairs with evidence to the agent or a person."""

    name = "none"
    judges_everything = False
    is_slow = False

    def rule(self, case: Case, *, patience: float) -> Ruling | None:
        return None

    def summarise(self, texts: list[str], *, patience: float) -> str | None:
        return None


class Newest(Nobody):
    """The newest of similar memories is true."""

    name = "newest"
    judges_everything = True

    def rule(self, case: Case, *, patience: float) -> Ruling | None:
        return Ruling(Conflict.Verdict.CONFIRMED, "the newest wins")
