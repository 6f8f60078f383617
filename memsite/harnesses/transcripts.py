"""What is kept of a transcript: who said what, in pieces that can be recalled singly. Standard library only."""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from memories.cleaning import clean
from memories.passages import passages
from memsite.harnesses.base import Harness, Turn, typed

PIECE = 1500
"""Characters of the longest piece: a few paragraphs of one turn."""
MOST_SAID = 200_000
_PARAGRAPHS = re.compile(r"\n\s*\n")
_FENCE = re.compile(r"^\s*(?:```|~~~)", re.MULTILINE)
_WORDS = re.compile(r"[^\W\d_]{2,}")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]")

type Redact = Callable[[str], str]


class Tail(NamedTuple):
    """The end of a transcript: whole lines, and the byte where they start in the file."""

    start: int
    text: str

    @property
    def end(self) -> int:
        return self.start + len(self.text.encode("utf-8", "surrogatepass"))

    def after(self, offset: int) -> str:
        """What was not captured up to `offset`; a file that has shrunk since then is a new one."""
        if not self.start < offset <= self.end:
            return self.text
        return self.text.encode("utf-8", "surrogatepass")[offset - self.start :].decode("utf-8", "replace")


def turns(harness: Harness, text: str) -> Iterator[Turn]:
    """The turns in lines of JSON; a line that is none says nothing. Of one message that was written twice the last."""
    found: dict[object, Turn] = {}
    for number, line in enumerate(text.split("\n")):
        try:
            record = json.loads(line) if line.startswith("{") else None
        except (ValueError, RecursionError):
            continue
        said = harness.turn(record) if isinstance(record, dict) else None
        if said and isinstance(record, dict):
            found[_identity(record, number)] = said
    yield from found.values()


def _identity(record: dict[str, object], number: int) -> object:
    """Gemini writes a message again, under the same id, when it knows more about it."""
    identity = record.get("id")
    return identity if isinstance(identity, str) and identity and "content" in record else number


def pieces(said: Iterable[Turn], *, redact: Redact) -> list[str]:
    """Distinct texts to remember, in order: a turn each or, of a long one, a group of its paragraphs.

    Secrets are replaced first: half a key is not recognised as one.
    """
    found: dict[str, None] = {}
    for role, raw in said:
        text = clean(typed(raw[:MOST_SAID]) if role == "user" else raw[:MOST_SAID])
        if not _worth_keeping(text):
            continue
        for piece in _grouped(redact(text)):
            if _worth_keeping(piece):
                found[f"{role.capitalize()}: {piece}"] = None
    return list(found)


def _worth_keeping(text: str) -> bool:
    """More than "ok", "yes, go on" and the like."""
    return len(_WORDS.findall(text)) >= 4 or len(_UNSPACED.findall(text)) >= 8


def _grouped(text: str) -> Iterator[str]:
    group = ""
    for paragraph in _paragraphs(text):
        if group and len(group) + 2 + len(paragraph) > PIECE:
            yield group
            group = ""
        group = f"{group}\n\n{paragraph}" if group else paragraph
    if group:
        yield group


def _paragraphs(text: str) -> Iterator[str]:
    """Paragraphs, whole fenced code, and groups of sentences of those that are too long."""
    open_fence = ""
    for paragraph in _PARAGRAPHS.split(text):
        joined = f"{open_fence}\n\n{paragraph}" if open_fence else paragraph
        if len(_FENCE.findall(joined)) % 2 and len(joined) <= PIECE:
            open_fence = joined
            continue
        open_fence = ""
        yield from _cut(joined)
    if open_fence:
        yield from _cut(open_fence)


def _cut(paragraph: str) -> Iterator[str]:
    if len(paragraph) <= PIECE:
        yield paragraph.strip()
        return
    start = end = 0
    for _, until in passages(paragraph):
        if until - start > PIECE:
            yield paragraph[start:end].strip()
            start = end
        end = until
    yield paragraph[start:].strip()
