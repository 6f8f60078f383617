"""Bullets of CLAUDE.md, AGENTS.md and their like: a bullet is a memory, under what its headings say."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

from memories.transfer import foreign
from memories.transfer.foreign import Found, Item
from memories.transfer.report import Remark
from memories.transfer.source import Source

FILES = frozenset({"claude.md", "claude.local.md", "agents.md", "gemini.md", "qwen.md", "memory.md"})
_LISTS = ("bullet_list", "ordered_list")
_BLOCKS = MarkdownIt("commonmark").disable("inline")  # emphasis and links stay as they are written
_MARKER = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])(?:\s+|$)(?:\[[ xX]\]\s+)?")


@dataclass(frozen=True)
class _Place:
    """What a bullet stands under: headings by depth, and the bullets that its list belongs to."""

    folder: str
    headings: tuple[tuple[int, str], ...] = ()
    parents: tuple[str, ...] = ()

    def below(self, depth: int, title: str) -> "_Place":
        kept = tuple(one for one in self.headings if one[0] < depth)
        return replace(self, headings=(*kept, (depth, title)))

    def inside(self, bullet: str) -> "_Place":
        return replace(self, parents=(*self.parents, bullet.rstrip(": "))) if bullet else self

    def item(self, text: str, *, line: int) -> Item:
        """The title of the file says nothing about a bullet; the heading right above it does."""
        nearest = [title for depth, title in self.headings[-1:] if depth > 1]
        content = ": ".join([*nearest, *self.parents, text])
        labels = foreign.tags([title for _, title in self.headings])
        return Item(place=f"line {line}", content=content, tags=labels, folder=self.folder)


def read(source: Source, *, now: datetime) -> Iterator[Found]:
    text = source.text()
    lines = text.split("\n")
    place = _Place(_folder_of(source))
    left_out = 0
    for node in SyntaxTreeNode(_BLOCKS.parse(text)).children:
        if node.type == "heading":
            place = place.below(int(node.tag[1]), _title(node))
        elif node.type in _LISTS:
            yield from _list(node, lines, place)
        else:
            left_out += 1
    if left_out:
        yield Remark(f"{source.name}: {left_out} paragraphs that are no bullets were left out.")


def _list(node: SyntaxTreeNode, lines: Sequence[str], place: _Place) -> Iterator[Found]:
    """Each item of a list; those of a list inside it stand under what the item says."""
    for one in node.children:
        start, end = one.map or (0, 0)
        inner = [child for child in one.children if child.type in _LISTS]
        taken = {number for child in inner if child.map for number in range(*child.map)}
        text = _text([lines[number] for number in range(start, end) if number not in taken])
        for child in inner:
            yield from _list(child, lines, place.inside(text))
        if text and not inner:
            yield place.item(text, line=start + 1)


def _text(lines: Sequence[str]) -> str:
    first, *rest = lines or [""]
    indent = len(marker[0]) if (marker := _MARKER.match(first)) else 0
    return "\n".join([first[indent:], *(line[min(indent, _indent(line)) :] for line in rest)]).strip()


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _title(node: SyntaxTreeNode) -> str:
    return " ".join(child.content for child in node.children if child.type == "inline").strip()


def _folder_of(source: Source) -> str:
    """Where the project is looked for: beside the file, but not in an agent's own folder such as ~/.claude."""
    folder = source.path.resolve().parent if source.path else Path("/")
    return "" if folder.name.startswith(".") else str(folder)
