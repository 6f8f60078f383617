"""Gemini CLI. Its event before compression comes with every turn: only a person's order surely compresses."""

from typing import ClassVar

from memsite.harnesses.base import Event, Harness, Json


class Gemini(Harness):
    name = "gemini"
    folder = ".gemini"
    events: ClassVar = {
        "BeforeAgent": Event.PROMPT,
        "SessionStart": Event.START,
        "AfterTool": Event.TOOL,
        "PreCompress": Event.COMPACT,
    }

    def is_compaction(self, raw: Json) -> bool:
        return raw.get("trigger") != "auto"


HARNESS = Gemini()
