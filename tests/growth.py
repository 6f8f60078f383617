"""How the cost of a function grows with its input: what a time alone cannot say on an unknown machine."""

import time
from collections.abc import Callable

_PARTS = 8
_BOUND = _PARTS * 4
"""Linear time is 8 for a text 8 times as long, quadratic 64."""
_NEGLIGIBLE = 0.5
"""CPU seconds of the whole text, below which a ratio would be noise."""


def is_linear(function: Callable[[str], object], text: str) -> bool:
    """Whether the whole text costs no more than a part of it promises; a disturbed measurement is repeated."""
    for _ in range(3):
        whole = _cpu_seconds(function, text)
        if whole < _NEGLIGIBLE or whole < _BOUND * _cpu_seconds(function, text[: len(text) // _PARTS]):
            return True
    return False


def _cpu_seconds(function: Callable[[str], object], text: str) -> float:
    started = time.thread_time()
    function(text)
    return time.thread_time() - started
