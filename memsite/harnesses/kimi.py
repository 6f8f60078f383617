"""Kimi Code. It takes a message, and would show the model the JSON of any other answer."""

from typing import Any

from memsite.harnesses.base import Event, Harness


class Kimi(Harness):
    name = "kimi"
    told = frozenset({Event.PROMPT})

    def answer(self, event: Event, block: str) -> dict[str, Any]:
        return {"message": block}


HARNESS = Kimi()
