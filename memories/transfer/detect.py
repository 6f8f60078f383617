"""Which format a file has, by what is in it; its name decides only between kinds of Markdown."""

import re
from pathlib import PurePath

from memories.errors import Rejected
from memories.transfer.readers import bullets, mem0, sqlite_file
from memories.transfer.source import Source

OWN = "memsite"
_BULLET = re.compile(r"(?m)^\s{0,3}(?:[-*+]|\d{1,9}[.)])\s+\S")
_GRAPH_DOCUMENT = re.compile(rb'\A\s*\{\s*"entities"\s*:')


def format_of(source: Source) -> str:
    """Raises Rejected for what is not recognised."""
    if source.file is None:
        return "markdown"
    beginning = source.beginning()
    if beginning.startswith(sqlite_file.MAGIC):
        return "sqlite"
    found = _of_lines(source) or (_of_markdown(source, beginning) if _is_text(beginning) else "")
    if not found:
        raise Rejected(f"The format of {source.name} is not recognised; name the format.")
    return found


def _of_lines(source: Source) -> str:
    beginning = source.beginning().lstrip(b"\xef\xbb\xbf \t\r\n")
    if not beginning.startswith((b"{", b"[")):
        return ""
    if _GRAPH_DOCUMENT.match(beginning):
        return "mcp-graph"
    _, first = next(iter(source.lines()), ("", None))
    if isinstance(first, dict):
        if first.get("format") == OWN or first.get("type") in ("memory", "conflict"):
            return OWN
        if first.get("type") in ("entity", "relation"):
            return "mcp-graph"
        if mem0.is_record(first):
            return "mem0"
    return "mem0" if b'"memory"' in beginning or b'"results"' in beginning else ""


def _of_markdown(source: Source, beginning: bytes) -> str:
    text = beginning.decode("utf-8-sig", "replace")
    name = PurePath(source.name).name.lower()
    if text.startswith(("---\n", "---\r\n")):
        return "markdown"
    if name in bullets.FILES or _BULLET.search(text):
        return "bullets"
    return "markdown" if name.endswith((".md", ".markdown")) else ""


def _is_text(beginning: bytes) -> bool:
    return bool(beginning.strip()) and b"\0" not in beginning
