"""Memories as rows for people: a spreadsheet takes no cell for a formula."""

from datetime import datetime

from memories.models import Memory

COLUMNS = (
    *("uid", "scope", "project", "kind", "tier", "source", "harness", "session", "actor", "tags", "pinned"),
    *("confidence", "valid_from", "valid_to", "superseded_by", "superseded_reason", "expires_at"),
    *("created_at", "updated_at", "content"),
)
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠")
"""How a cell begins that a spreadsheet would run (OWASP, CSV injection); Japanese and Chinese ones take wide signs."""


def row(memory: Memory, *, successor: str) -> list[str]:
    return [cell(successor if name == "superseded_by" else getattr(memory, name)) for name in COLUMNS]


def cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return value.isoformat(sep=" ", timespec="seconds")
    text = ", ".join(value) if isinstance(value, list) else str(value)
    return f"'{text}" if text.lstrip(" \n").startswith(_FORMULA) else text
