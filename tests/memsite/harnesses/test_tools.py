"""Which tool output is captured, and how much of it."""

import pytest

from memsite.harnesses.base import Tool
from memsite.harnesses.tools import HEAD, TAIL, captured, is_wanted


@pytest.mark.parametrize(
    ("name", "whitelist", "wanted"),
    [
        ("Bash", [], False),
        ("Bash", [""], False),
        ("Bash", ["bash"], True),
        ("shell", ["bash"], True),
        ("bash", [" Shell "], True),
        ("run_shell_command", ["bash"], True),
        ("Read", ["bash"], False),
        ("Read", ["*"], True),
        ("", ["*"], False),
        ("mcp__memory__memory_recall", ["*", "mcp__memory__memory_recall"], False),
        ("memory_memory_store", ["*"], False),
        ("mcp_memory_memory_list", ["*"], False),
        ("MEMORY_FORGET", ["*"], False),
    ],
)
def test_a_tool_is_captured_only_if_named_and_never_one_of_ours(name: str, whitelist: list[str], wanted: bool) -> None:
    assert is_wanted(name, whitelist) is wanted


def test_the_call_stands_above_its_output() -> None:
    assert captured(Tool("Bash", "pytest -q", "2 passed\n")) == "Bash (pytest -q):\n2 passed"
    assert captured(Tool("Bash", "", "2 passed")) == "Bash:\n2 passed"
    assert captured(Tool("Bash", "true", " \n")) == ""


def test_of_a_long_output_its_head_and_tail_are_kept_with_a_note() -> None:
    text = captured(Tool("Bash", "", "a" * 200_000 + "z" * 100_000))
    assert len(text) < HEAD + TAIL + 100
    assert text.startswith("Bash:\naaa")
    assert text.endswith("zzz")
    assert "292000 characters left out" in text
