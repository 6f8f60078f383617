"""Kimi Code. It takes a message, and would show the model the JSON of any other answer."""

from typing import Any

from memsite.harnesses.base import Event, Harness, Json


class Kimi(Harness):
    name = "kimi"
    told = frozenset({Event.PROMPT})

    def output(self, raw: Json) -> Any:
        return raw.get("tool_output", raw.get("tool_response"))

    def answer(self, event: Event, block: str) -> dict[str, Any]:
        return {"message": block}


HARNESS = Kimi()
