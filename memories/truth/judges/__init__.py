"""The judge that MEMORY_JUDGE names, one a process."""

import functools

from memories.conf import config
from memories.truth.judges.base import Case, Judge, JudgeFailed, Newest, Nobody, Ruling

__all__ = ["Case", "Judge", "JudgeFailed", "Ruling", "current"]


def current() -> Judge:
    settings = config()
    return _judge(settings.judge)


@functools.cache
def _judge(name: str) -> Judge:
    return Newest() if name == "newest" else Nobody()
