"""The judge that MEMORY_JUDGE names, one a process."""

import threading

from memories.conf import MemorySettings, config
from memories.truth.judges.base import Case, Judge, JudgeAway, JudgeFailed, Newest, Nobody, Ruling

__all__ = ["Case", "Judge", "JudgeAway", "JudgeFailed", "Ruling", "current"]

_lock = threading.Lock()
_made: tuple[MemorySettings, Judge] | None = None


def current() -> Judge:
    """Made once; what it needs is loaded when it is first asked."""
    global _made  # noqa: PLW0603 - one model a process
    settings = config()
    with _lock:
        if _made is None or _made[0] is not settings:
            _made = (settings, _make(settings))
        return _made[1]


def _make(settings: MemorySettings) -> Judge:
    if settings.judge == "http":
        from memories.truth.judges.http import HttpJudge  # noqa: PLC0415 - only where it is asked for

        return HttpJudge(
            settings.judge_url,
            model=settings.judge_model,
            api_key=settings.judge_api_key,
            per_hour=settings.judge_per_hour,
        )
    if settings.judge == "llama" and settings.judge_path is not None:
        from memories.truth.judges.llama import LlamaJudge  # noqa: PLC0415

        return LlamaJudge(settings.judge_path, device=settings.device)
    return Newest() if settings.judge == "newest" else Nobody()
