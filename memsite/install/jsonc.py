"""JSON with comments and trailing commas, edited in place: what an edit does not name keeps its bytes."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from memsite.install.unreadable import Unreadable

type Json = Any
type Path = tuple[str | int, ...]

SPACE = " \t\r\n"
SKIPPED = re.compile(r"(?:[ \t\r\n]++|//[^\r\n]*+|/\*.*?\*/)*+", re.DOTALL)
_scalars = json.JSONDecoder(strict=False)


@dataclass(frozen=True)
class Node:
    """A value and where it stands; `items` of an object or array."""

    start: int
    end: int
    value: Json
    items: tuple["Item", ...] = ()


@dataclass(frozen=True)
class Item:
    """`start` is that of the key in an object; `comma` is where the comma after it stands, if there is one."""

    key: str | int
    start: int
    node: Node
    comma: int | None


def loads(text: str) -> Json:
    """The value; an empty text is an empty object. Raises Unreadable."""
    return _root(text).value


def at(value: Json, path: Sequence[str | int]) -> Json:
    """What stands at a path; None if there is nothing."""
    for key in path:
        try:
            value = value[key]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def add(text: str, home: Path, value: Json, *, name: str | None = None) -> str:
    """Append to the array at `home`, or as `name` to the object there; what is missing on the way is made.

    Raises Unreadable if something else stands in the way.
    """
    text = text if text.strip(SPACE + "\ufeff") else text + "{}\n"
    root = _root(text)
    node, depth = root, 0
    while depth < len(home) and isinstance(node.value, dict) and home[depth] in node.value:
        node = _child(node, home[depth]).node
        depth += 1
    missing = home[depth:]
    kind = dict if missing or name is not None else list
    if not isinstance(node.value, kind):
        place = ".".join(map(str, home[:depth])) or "the file"
        raise Unreadable(f"{place} is not {'an object' if kind is dict else 'a list'}")
    for key in reversed(missing):
        value = [value] if name is None else {name: value}
        name = str(key)
    return _insert(text, root, node, value, name)


def replace(text: str, path: Path, value: Json) -> str:
    """Put another value in the place of the one at `path`."""
    root = _root(text)
    node = _node(root, path)
    multi_line = "\n" in text[root.start : root.end]
    shown = _shown(value, _line_indent(text, node.start), _unit(text, root), _newline(text)) if multi_line else None
    return text[: node.start] + (shown or _inline(value)) + text[node.end :]


def remove(text: str, path: Path) -> str:
    """Take out what stands at `path`, and what holds nothing else."""
    root = _root(text)
    container = _node(root, path[:-1])
    text = _cut(text, container, path[-1])
    if len(path) > 1 and len(container.items) == 1:
        left = _node(_root(text), path[:-1])
        if not text[left.start + 1 : left.end - 1].strip(SPACE):
            return remove(text, path[:-1])
    return text


def _insert(text: str, root: Node, container: Node, value: Json, name: str | None) -> str:
    close = container.end - 1
    last = container.items[-1] if container.items else None
    begin = last.node.end if last else container.start + 1
    content_end = max(begin, len(text[:close].rstrip(SPACE)))
    key = "" if name is None else json.dumps(name, ensure_ascii=False) + ": "
    trailing = "," if last and last.comma is not None else ""
    if _is_inline(text, root, container):
        piece = (" " if last else "") + key + _inline(value) + trailing
    else:
        newline = _newline(text)
        outer = _line_indent(text, container.start)
        indent = _item_indent(text, container) or outer + _unit(text, root)
        piece = newline + indent + key + _shown(value, indent, _unit(text, root), newline) + trailing
        if last is None and "\n" not in text[content_end:close]:
            piece += newline + outer
    separator = "," if last and last.comma is None else ""
    return text[:begin] + separator + text[begin:content_end] + piece + text[content_end:]


def _cut(text: str, container: Node, key: str | int) -> str:
    item = _child(container, key)
    if len(container.items) == 1:
        inside = (
            text[container.start + 1 : item.start] + text[(item.comma or item.node.end - 1) + 1 : container.end - 1]
        )
        if not inside.strip(SPACE):
            return text[: container.start + 1] + text[container.end - 1 :]
    index = container.items.index(item)
    before = container.items[index - 1] if index else None
    floor = container.start + 1 if before is None else (before.comma or before.node.end - 1) + 1
    start = max(floor, len(text[: item.start].rstrip(SPACE)))
    end = item.node.end if item.comma is None else item.comma + 1
    if not _ends_line(text, end):
        own_line = "\n" in text[start : item.start]
        line_before = text[text.rfind("\n", 0, start) + 1 : start]
        if own_line and (item.comma is not None or "//" in line_before):
            start = item.start  # a comment before it may reach to the end of its line
        if start == item.start or before is None:
            end += len(text[end:]) - len(text[end:].lstrip(" \t"))
    if item.comma is None and before is not None and before.comma is not None:
        return text[: before.comma] + text[before.comma + 1 : start] + text[end:]
    return text[:start] + text[end:]


def _ends_line(text: str, position: int) -> bool:
    return text[position:].lstrip(" \t")[:1] in ("", "\r", "\n")


def _inline(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)


def _shown(value: Json, indent: str, unit: str, newline: str) -> str:
    lines = json.dumps(value, ensure_ascii=False, indent=unit).split("\n")
    return (newline + indent).join(lines)


def _is_inline(text: str, root: Node, container: Node) -> bool:
    if container.items:
        return "\n" not in text[container.start : container.end]
    return bool(root.items) and "\n" not in text[root.start : root.end]


def _newline(text: str) -> str:
    first = text.find("\n")
    return "\r\n" if first > 0 and text[first - 1] == "\r" else "\n"


def _unit(text: str, root: Node) -> str:
    return _item_indent(text, root) or "  "


def _item_indent(text: str, container: Node) -> str:
    """The white space before an item that begins a line; empty if none does."""
    for item in container.items:
        line = text[text.rfind("\n", 0, item.start) + 1 : item.start]
        if line and not line.strip(" \t") and "\n" in text[container.start : item.start]:
            return line
    return ""


def _line_indent(text: str, position: int) -> str:
    line = text[text.rfind("\n", 0, position) + 1 : position].lstrip("\ufeff")
    return line[: len(line) - len(line.lstrip(" \t"))]


def _node(node: Node, path: Path) -> Node:
    for key in path:
        node = _child(node, key).node
    return node


def _child(node: Node, key: str | int) -> Item:
    """Of a key that is there twice the last one counts, as it does for every reader."""
    return next(item for item in reversed(node.items) if item.key == key)


def _root(text: str) -> Node:
    begin = _skip(text, 1 if text.startswith("\ufeff") else 0)
    if begin == len(text):
        return Node(begin, begin, {})
    try:
        node = _value(text, begin)
    except (RecursionError, StopIteration, json.JSONDecodeError):
        raise Unreadable("it is not valid JSON") from None
    end = _skip(text, node.end)
    if end != len(text):
        raise _unexpected(text, end)
    if not isinstance(node.value, dict):
        raise Unreadable("it is not a JSON object")
    return node


def _value(text: str, start: int) -> Node:
    opening = text[start : start + 1]
    if opening == "{":
        items, end = _items(text, start, "}")
        return Node(start, end, {item.key: item.node.value for item in items}, items)
    if opening == "[":
        items, end = _items(text, start, "]")
        return Node(start, end, [item.node.value for item in items], items)
    try:
        value, end = _scalars.raw_decode(text, start)
    except json.JSONDecodeError:
        raise _unexpected(text, start) from None
    return Node(start, end, value)


def _items(text: str, start: int, closing: str) -> tuple[tuple[Item, ...], int]:
    items: list[Item] = []
    position = _skip(text, start + 1)
    while text[position : position + 1] != closing:
        if items and items[-1].comma is None:
            raise _unexpected(text, position)
        key, value_at = (len(items), position) if closing == "]" else _key(text, position)
        node = _value(text, value_at)
        after = _skip(text, node.end)
        comma = after if text[after : after + 1] == "," else None
        items.append(Item(key, position, node, comma))
        position = after if comma is None else _skip(text, after + 1)
    return tuple(items), position + 1


def _key(text: str, position: int) -> tuple[str, int]:
    if text[position : position + 1] != '"':
        raise _unexpected(text, position)
    key, end = _scalars.raw_decode(text, position)
    colon = _skip(text, end)
    if text[colon : colon + 1] != ":":
        raise _unexpected(text, colon)
    return key, _skip(text, colon + 1)


def _skip(text: str, position: int) -> int:
    found = SKIPPED.match(text, position)
    return found.end() if found else position


def _unexpected(text: str, position: int) -> Unreadable:
    return Unreadable(f"line {text.count(chr(10), 0, position) + 1} is not valid JSON")
