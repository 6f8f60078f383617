"""Cursor. Nothing can be put beside a prompt; what it prints there only says that the prompt may go on."""

from typing import Any, ClassVar

from memsite.harnesses.base import Event, Harness, Json


class Cursor(Harness):
    name = "cursor"
    events: ClassVar = {
        "beforeSubmitPrompt": Event.PROMPT,
        "sessionStart": Event.START,
        "postToolUse": Event.TOOL,
        "preCompact": Event.COMPACT,
    }
    told = frozenset({Event.START, Event.TOOL})

    def cwd(self, raw: Json) -> str:
        roots = raw.get("workspace_roots")
        first = roots[0] if isinstance(roots, list) and roots else ""
        return super().cwd(raw) or (first if isinstance(first, str) else "")

    def answer(self, event: Event, block: str) -> dict[str, Any]:
        return {"additional_context": block}

    def silence(self, event: Event) -> dict[str, Any]:
        return {"continue": True} if event is Event.PROMPT else {}


HARNESS = Cursor()
