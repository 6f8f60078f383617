"""Copilot CLI. Its names are in camel case, its answer is flat."""

from collections.abc import Mapping
from typing import Any, ClassVar

from memsite.harnesses.base import Event, Harness, Json, Turn, spoken


class Copilot(Harness):
    name = "copilot"
    events: ClassVar = {
        "userPromptSubmitted": Event.PROMPT,
        "sessionStart": Event.START,
        "postToolUse": Event.TOOL,
        "preCompact": Event.COMPACT,
    }

    def output(self, raw: Json) -> Any:
        return raw.get("toolResult")

    def turn(self, record: Json) -> Turn | None:
        role, _, what = str(record.get("type")).partition(".")
        data = record.get("data")
        if role not in ("user", "assistant") or what != "message" or not isinstance(data, Mapping):
            return super().turn(record)
        text = spoken(data.get("content"))
        return Turn(role, text) if text else None

    def answer(self, event: Event, block: str) -> dict[str, Any]:
        return {"additionalContext": block}


HARNESS = Copilot()
