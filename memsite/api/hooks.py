"""The hooks of agent programs: their JSON in, their JSON out."""

import time
from typing import Any

from django.http import HttpRequest
from ninja import Body, Router, Schema
from pydantic import Field, ValidationError, field_validator

from memories.errors import Rejected
from memsite.api import who
from memsite.guard import is_loopback
from memsite.harnesses import events, named
from memsite.harnesses.transcripts import Tail

router = Router()

BUDGET_MS = 1500
"""How long a client waits that does not say it."""


class TailIn(Schema):
    start: int = Field(ge=0, lt=2**53)
    text: str


class ClientIn(Schema):
    """What hook.py and the plugin add to a hook's JSON, under the key `memory`."""

    budget_ms: float = BUDGET_MS
    limit: int = 5
    budget_chars: int = 2000
    tool_capture: list[str] = Field(default_factory=list)
    chat_capture: bool = False
    transcript: TailIn | None = None

    @field_validator("tool_capture", mode="before")
    @classmethod
    def split(cls, value: object) -> object:
        return value.split(",") if isinstance(value, str) else value


@router.post("/hook/{harness}", response=dict[str, Any], summary="A hook of an agent program fired")
def fire(
    request: HttpRequest, harness: str, body: Body[dict[str, Any]], event: str = "", scope: str | None = None
) -> dict[str, Any]:
    """The body is the harness's own; `event` names what is not inside. The answer is what the hook prints."""
    principal = who.writer(request)
    program = named(harness)
    fired = program.event(body, event)
    if fired is None:
        if not event and "hook_event_name" not in body:
            raise Rejected("Name the event: ?event=UserPromptSubmit, SessionStart, PostToolUse or PreCompact.")
        return {}
    client = _client(body.get("memory") or {})
    received = getattr(request, "scope", {}).get("memories.received", time.monotonic())
    return events.answer(
        events.Hook(
            harness=program,
            event=fired,
            raw=body,
            scope=who.scope(request, scope),
            actor=principal.name,
            deadline=received + client.budget_ms / 1000,
            limit=client.limit,
            budget_chars=client.budget_chars,
            tool_capture=client.tool_capture,
            chat_capture=client.chat_capture,
            tail=Tail(client.transcript.start, client.transcript.text) if client.transcript else None,
            may_read="memory" not in body and _is_from_here(request),
        )
    )


def _client(given: object) -> ClientIn:
    try:
        return ClientIn.model_validate(given)
    except ValidationError as error:
        first = error.errors()[0]
        raise Rejected(f"memory.{'.'.join(map(str, first['loc']))}: {first['msg']}.") from None


def _is_from_here(request: HttpRequest) -> bool:
    """Whether a program of this machine asks, not a proxy for another one."""
    peer: tuple[str, int] | None = getattr(request, "scope", {}).get("client")
    forwarded = {"Forwarded", "X-Forwarded-For", "X-Real-Ip", "Via"} & set(request.headers)
    return peer is not None and is_loopback(peer[0]) and not forwarded
