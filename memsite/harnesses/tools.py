"""Which tool output is captured, and how much of it. Standard library only."""

from collections.abc import Iterable

from memsite.harnesses.base import Tool

HEAD, TAIL = 5000, 3000
"""Characters kept of a long output: what was asked and how it began, and how it ended."""
OURS = tuple(
    f"memory_{verb}" for verb in ("store", "recall", "forget", "list", "stats", "history", "conflicts", "consolidate")
)
_SHELLS = frozenset({"bash", "shell", "run_shell_command"})


def is_ours(name: str) -> bool:
    """Whether it is a tool of this service, under whatever prefix a harness gives it."""
    return any(ours in name.lower() for ours in OURS)


def is_wanted(name: str, whitelist: Iterable[str]) -> bool:
    wanted = {one.strip().lower() for one in whitelist} - {""}
    if _SHELLS & wanted:
        wanted |= _SHELLS
    return bool(name) and not is_ours(name) and ("*" in wanted or name.lower() in wanted)


def captured(tool: Tool) -> str:
    """The text to remember of a call; empty if it gave nothing."""
    output = tool.output.strip()
    if not output:
        return ""
    return f"{tool.name}{f' ({tool.call})' if tool.call else ''}:\n{shortened(output)}"


def shortened(text: str) -> str:
    if len(text) <= HEAD + TAIL:
        return text
    left_out = len(text) - HEAD - TAIL
    return f"{text[:HEAD]}\n[... {left_out} characters left out ...]\n{text[-TAIL:]}"
