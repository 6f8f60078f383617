"""Notes in Markdown with YAML front matter: a note is a memory. Of a folder, every `.md` in it."""

import os
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml

from memories.errors import Rejected
from memories.transfer import foreign
from memories.transfer.foreign import Found
from memories.transfer.readers import bullets
from memories.transfer.report import Flaw, Remark
from memories.transfer.source import Source, of_path

FENCE = "---"


def read(source: Source, *, now: datetime) -> Iterator[Found]:
    if source.file is None and source.path:
        yield from _folder(source.path, now=now)
    else:
        yield note(source.text(), place=source.name, title=Path(source.name).stem, now=now)


def _folder(folder: Path, *, now: datetime) -> Iterator[Found]:
    """In the order of their names; a link is not followed, since it may lead out of the folder."""
    for path in sorted(folder.rglob("*.md")):
        place = str(path.relative_to(folder))
        if _through_link(path, folder) or not path.is_file():
            yield Remark(f"{place} is a link or no file, and was left out.")
            continue
        source = of_path(path)
        try:
            if path.name.lower() in bullets.FILES:
                yield from bullets.read(source, now=now)
            else:
                yield note(source.text(), place=place, title=path.stem, now=now)
        except Rejected as error:
            yield Flaw(place, str(error))
        finally:
            if source.file:
                source.file.close()


def _through_link(path: Path, folder: Path) -> bool:
    return os.path.realpath(path) != os.path.join(os.path.realpath(folder), path.relative_to(folder))  # noqa: PTH118


def note(text: str, *, place: str, title: str, now: datetime) -> Found:
    try:
        matter, body = split(text)
    except Rejected as error:
        return Flaw(place, str(error))
    named = matter.get("title")
    title = named.strip() if isinstance(named, str) and named.strip() else title
    if not body.strip():
        return Flaw(place, "It has no text.")
    content = body if title.casefold() in body[: len(title) + 200].casefold() else f"{title}\n\n{body.strip()}"
    known = {name: value for name, value in matter.items() if name != "metadata"}
    return foreign.item({**known, "content": content}, place=place, now=now)


def split(text: str) -> tuple[dict[str, Any], str]:
    """Front matter and body; no front matter is an empty one. Raises Rejected for what is no YAML."""
    lines = text.lstrip("\ufeff").split("\n")
    if lines[0].rstrip() != FENCE:
        return {}, text
    end = next((number for number, line in enumerate(lines[1:], start=1) if line.rstrip() in (FENCE, "...")), 0)
    if not end:
        return {}, text
    try:
        matter = yaml.safe_load("\n".join(lines[1:end]))
    except (yaml.YAMLError, ValueError, RecursionError):
        raise Rejected("Its front matter is not YAML.") from None
    if matter is not None and not isinstance(matter, dict):
        raise Rejected("Its front matter has no names.")
    return {str(name): value for name, value in (matter or {}).items()}, "\n".join(lines[end + 1 :])
