"""Agent programs: what their hooks say and how they are answered, one module each.

Standard library only, as is what they use of `memories`: hook.py reads by them when no service answers. `events` is the
service's own side.
"""

import importlib

from memories.errors import NotFound
from memsite.harnesses.base import Harness

NAMES = ("claude", "codex", "copilot", "cursor", "gemini", "kimi", "opencode", "qwen")


def named(name: str) -> Harness:
    """The harness of a name. Raises NotFound."""
    if name not in NAMES:
        raise NotFound(f"There is no harness {name[:40]!r}; it is one of {', '.join(NAMES)}.")
    found: Harness = importlib.import_module(f"{__name__}.{name}").HARNESS
    return found
