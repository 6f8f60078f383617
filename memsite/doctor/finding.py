from dataclasses import dataclass
from typing import Literal

type Level = Literal["ok", "warn", "fail"]


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at; `cure` is what to do about it."""

    level: Level
    what: str
    cure: str = ""

    def line(self) -> str:
        return f"{self.level:<4}  {self.what}{f'  -> {self.cure}' if self.cure else ''}"


def ok(what: str) -> Finding:
    return Finding("ok", what)


def warn(what: str, cure: str) -> Finding:
    return Finding("warn", what, cure)


def fail(what: str, cure: str) -> Finding:
    return Finding("fail", what, cure)
