"""Codex. It refuses an answer with a key that it does not know."""

from collections.abc import Mapping

from memsite.harnesses.base import Harness, Json, Turn


class Codex(Harness):
    name = "codex"
    folder = ".codex"

    def turn(self, record: Json) -> Turn | None:
        """Messages to and from the model; the events beside them say the same once more."""
        payload = record.get("payload")
        if record.get("type") != "response_item" or not isinstance(payload, Mapping):
            return None
        said = super().turn(payload) if payload.get("type") == "message" else None
        if said and said.role == "user" and said.text.startswith("# AGENTS.md instructions"):
            return None
        return said


HARNESS = Codex()
