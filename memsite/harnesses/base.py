"""What all agent programs have in common. The shape here is Claude Code's, which most of them follow."""

import json
import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from hashlib import sha256
from typing import Any, ClassVar, NamedTuple

type Json = Mapping[str, Any]

LONGEST_SESSION = 200


class Event(StrEnum):
    PROMPT = "UserPromptSubmit"
    START = "SessionStart"
    TOOL = "PostToolUse"
    COMPACT = "PreCompact"


class Turn(NamedTuple):
    """What a person or a model said. `role` is user or assistant."""

    role: str
    text: str


class Tool(NamedTuple):
    """A finished call: its name, what it was called with in one line, what it gave."""

    name: str
    call: str
    output: str


USERS = frozenset({"user", "human"})
ASSISTANTS = frozenset({"assistant", "model", "gemini"})
_TEXT_PARTS = frozenset({None, "text", "input_text", "output_text"})
_OUTPUTS = (
    *("textResultForLlm", "llmContent", "text", "stdout", "stderr", "output", "content", "result", "contents"),
    *("file", "error", "message"),
)
_CALLS = ("command", "cmd", "script", "file_path", "filePath", "path", "pattern", "query", "url", "prompt")
LONGEST_CALL = 500
# What a harness puts into a user's turn by itself. Ours is removed by `memories.cleaning`, wherever it stands.
_INSERTED = re.compile(
    r"(?:<|&lt;)(?P<end>/?)(?P<tag>hook_context|hook_result|system[-_]reminder|environment_context|user_instructions"
    r"|local-command-\w{1,20}|command-name|command-message|command-args)\b[^<>&]{0,200}(?:>|&gt;)"
)


class Harness:
    """Reads the JSON of a hook and writes its answer."""

    name = ""
    events: ClassVar[Mapping[str, Event]] = {event.value: event for event in Event}
    """What the harness calls each event."""
    folder = ""
    """Where it keeps its transcripts, below the home of the user; "" if nothing is read by the service itself."""
    told = frozenset({Event.PROMPT, Event.START, Event.TOOL})
    """Events whose answer reaches the model."""
    reports_itself = False
    """Its plugin says by itself what entered a prompt."""

    def event(self, raw: Json, asked: str) -> Event | None:
        """Which event it is, by the name that was asked for or stands inside; None for one that is not ours."""
        known = {**{event.value: event for event in Event}, **self.events}
        return known.get(asked or _string(raw, "hook_event_name", "hookEventName", "event"))

    def session(self, raw: Json) -> str:
        """Its name, or the digest of one that is longer than is kept."""
        name = _string(raw, "session_id", "sessionId", "conversation_id")
        return name if len(name) <= LONGEST_SESSION else sha256(name.encode(errors="replace")).hexdigest()

    def cwd(self, raw: Json) -> str:
        return _string(raw, "cwd", "working_dir")

    def source(self, raw: Json) -> str:
        return _string(raw, "source")

    def prompt(self, raw: Json) -> str:
        return unquoted(text_of(raw.get("prompt")))

    def tool(self, raw: Json) -> Tool:
        call = raw.get("tool_input", raw.get("toolArgs"))
        return Tool(_string(raw, "tool_name", "toolName"), call_of(call), text_of(self.output(raw)))

    def output(self, raw: Json) -> Any:
        return raw.get("tool_output", raw.get("tool_response"))

    def transcript_path(self, raw: Json) -> str:
        return _string(raw, "transcript_path", "transcriptPath")

    def is_compaction(self, raw: Json) -> bool:
        """Whether the text of the session is really about to go."""
        return True

    def messages(self, raw: Json) -> Iterator[Turn]:
        """Turns that came with the event itself."""
        yield from ()

    def turn(self, record: Json) -> Turn | None:
        """What one line of a transcript says, if a person or a model says it."""
        if record.get("isMeta") or record.get("isCompactSummary") or record.get("isSidechain"):
            return None
        message = record.get("message")
        if not isinstance(message, Mapping):
            message = record
        elif not _role(record.get("type") or record.get("role") or message.get("role")):
            return None  # a request to the model, written down whole
        role = _role(message.get("role") or record.get("role") or record.get("type"))
        text = spoken(next((message[name] for name in ("content", "parts", "text") if name in message), None))
        return Turn(role, text) if role and text else None

    def answer(self, event: Event, block: str) -> dict[str, Any]:
        """What is printed so that a block reaches the model."""
        return {"hookSpecificOutput": {"hookEventName": self.native(event), "additionalContext": block}}

    def silence(self, event: Event) -> dict[str, Any]:
        """What is printed when there is nothing to say."""
        return {}

    def native(self, event: Event) -> str:
        return next(name for name, one in self.events.items() if one is event)


def _string(raw: Json, *names: str) -> str:
    return next((value for name in names if isinstance(value := raw.get(name), str) and value), "")


def _role(name: object) -> str:
    if not isinstance(name, str):
        return ""
    if name in USERS:
        return "user"
    return "assistant" if name in ASSISTANTS else ""


def text_of(value: Any, *, depth: int = 8) -> str:
    """The text in what a prompt or the output of a tool may be: a string, an array of parts, an object."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and depth:
        return "\n".join(filter(None, (text_of(one, depth=depth - 1) for one in value)))
    if isinstance(value, Mapping) and depth:
        found = [text_of(value[name], depth=depth - 1) for name in _OUTPUTS if name in value]
        return "\n".join(filter(None, found)) if found else json.dumps(value, ensure_ascii=False)
    return ""


def call_of(value: Any) -> str:
    """What a tool was called with, in one line."""
    if isinstance(value, str):
        value = _parsed(value) or value
    if isinstance(value, Mapping):
        value = next((value[name] for name in _CALLS if isinstance(value.get(name), str | list)), "")
    if isinstance(value, list):
        value = " ".join(map(str, value))
    return " ".join(value.split())[:LONGEST_CALL] if isinstance(value, str) else ""


def _parsed(text: str) -> Any:
    try:
        return json.loads(text) if text.startswith("{") else None
    except (ValueError, RecursionError):
        return None


def spoken(content: Any) -> str:
    """The text of a message without its tool calls, results and thoughts."""
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping):
        content = [content]
    if not isinstance(content, list):
        return ""
    return "\n\n".join(filter(None, map(_part, content)))


def _part(part: Any) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, Mapping) or part.get("thought"):
        return ""
    kind = part.get("type")
    if not (kind is None or isinstance(kind, str)) or kind not in _TEXT_PARTS:
        return ""
    return _string(part, "text")


def unquoted(text: str) -> str:
    """A prompt that arrives as one quoted argument, as it was typed."""
    stripped = text.strip()
    if len(stripped) > 2 and stripped[0] == stripped[-1] == '"' and not re.search(r'(?<!\\)"', stripped[1:-1]):
        return stripped[1:-1].replace('\\"', '"')
    return text


def typed(text: str) -> str:
    """What the person wrote, without what the harness wrote beside it."""
    pieces, opened, position = [], None, 0
    for tag in _INSERTED.finditer(text):
        if opened is None and not tag["end"]:
            opened = tag
        elif opened is not None and tag["end"] and tag["tag"] == opened["tag"]:
            pieces.append(text[position : opened.start()])
            position, opened = tag.end(), None
    return "".join((*pieces, text[position:]))
