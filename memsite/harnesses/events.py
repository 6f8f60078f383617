"""What the service does when a hook of an agent program fires."""

import logging
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import OperationalError

from memories import candidates, stated
from memories.cleaning import clean
from memories.conf import config
from memories.draft import Draft
from memories.errors import MemoriesError
from memories.models import Source
from memories.places import project_to_write
from memories.querysets import ANY_PROJECT
from memories.recall import LIMIT, Question, Recalled, recall
from memories.remember import remember
from memories.secrets import redact
from memsite.harnesses import tools
from memsite.harnesses.asked import asked_to_keep
from memsite.harnesses.base import Event, Harness, Json, Turn, typed
from memsite.harnesses.transcripts import Tail, pieces, turns
from memsite.hook import transcript_tail
from telemetry import injections, sessions

LARGEST_BLOCK = 9000
"""Characters: two harnesses replace what is longer than 10,000 by a stump."""
LONGEST_QUERY = 2000
"""Characters of a prompt that are kept with the record of its injection."""
log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Hook:
    """A hook that fired, on whose behalf, and what its client wants. `deadline` is on the monotonic clock."""

    harness: Harness
    event: Event
    raw: Json
    scope: str
    actor: str = ""
    deadline: float
    limit: int = 5
    budget_chars: int = 2000
    tool_capture: Sequence[str] = ()
    chat_capture: bool = False
    tail: Tail | None = None
    may_read: bool = False
    """It comes from this machine and brought no transcript: the service may read it itself."""

    @property
    def session(self) -> str:
        return self.harness.session(self.raw)

    @property
    def place(self) -> dict[str, Any]:
        return {"scope": self.scope, "harness": self.harness.name, "session": self.session}

    @property
    def cwd(self) -> str:
        return self.harness.cwd(self.raw)

    def draft(self, content: str, source: str, **fields: Any) -> Draft:
        return Draft(content=content, source=source, actor=self.actor, **self.place, **fields)


def answer(hook: Hook) -> dict[str, Any]:
    """What the harness is told. Raises MemoriesError for what it cannot mean."""
    match hook.event:
        case Event.PROMPT:
            return _prompt(hook)
        case Event.START:
            return _start(hook)
        case Event.TOOL:
            _keep_output(hook)
        case Event.COMPACT:
            _keep_transcript(hook)
    return hook.harness.silence(hook.event)


def _prompt(hook: Hook) -> dict[str, Any]:
    text = clean(typed(hook.harness.prompt(hook.raw)))
    if not text:
        return hook.harness.silence(hook.event)
    kept = _keep_asked(hook, text)
    if hook.chat_capture and not kept:
        for statement in stated.stated(text):
            candidates.propose(statement.text, cwd=hook.cwd, **hook.place)
    context = sessions.next_prompt(**hook.place)
    if hook.event not in hook.harness.told:
        return hook.harness.silence(hook.event)
    return _told(hook, text, exclude=context.uids | kept)


def _start(hook: Hook) -> dict[str, Any]:
    source = hook.harness.source(hook.raw)
    if source == "resume":
        return hook.harness.silence(hook.event)
    sessions.start_afresh(**hook.place)
    query = sessions.last_query(**hook.place) if source == "compact" and hook.event in hook.harness.told else ""
    return _told(hook, query, exclude=frozenset()) if query else hook.harness.silence(hook.event)


def _told(hook: Hook, query: str, *, exclude: frozenset[str]) -> dict[str, Any]:
    """The block for a query, in the words of the harness, and on record if it is still in time to be read."""
    recalled = recall(
        Question(
            query=query,
            scope=hook.scope,
            cwd=hook.cwd,
            limit=max(1, min(hook.limit, LIMIT)),
            budget_chars=max(0, min(hook.budget_chars, LARGEST_BLOCK)),
            exclude=exclude,
        )
    )
    if not recalled.block.text:
        return hook.harness.silence(hook.event)
    injection = _injection(hook, recalled, query)
    if hook.harness.reports_itself:
        told = {"block": recalled.block.text, "uids": list(injection.uids), "chars": injection.chars}
        return {**told, "fingerprint": injection.fingerprint, "project": injection.project}
    if time.monotonic() > hook.deadline:
        return hook.harness.silence(hook.event)
    _record(injection)
    return hook.harness.answer(hook.event, recalled.block.text)


def _injection(hook: Hook, recalled: Recalled, query: str) -> injections.Report:
    return injections.Report(
        **hook.place,
        hook=hook.event.value,
        project="" if recalled.project == ANY_PROJECT else recalled.project,
        query=query[:LONGEST_QUERY],
        uids=tuple(item.memory.uid for item in recalled.items),
        chars=recalled.block.chars,
        fingerprint=recalled.fingerprint,
    )


def _record(injection: injections.Report) -> None:
    try:
        injections.report(injection, most_wait_ms=sessions.MOST_WAIT_MS)
    except OperationalError as error:  # the prompt does not wait for another writer
        log.info("An injection was not recorded: %s", error)


def _keep_asked(hook: Hook, text: str) -> frozenset[str]:
    """Store what the person asked to remember. Returns the uids."""
    drafts = [
        hook.draft(content, Source.CHAT, cwd=hook.cwd, kind=stated.kind_of(content)) for content in asked_to_keep(text)
    ]
    return _keep(drafts)


def _keep_output(hook: Hook) -> None:
    tool = hook.harness.tool(hook.raw)
    if not tools.is_wanted(tool.name, hook.tool_capture):
        return
    output = tools.captured(tool._replace(call=_redacted(tool.call), output=_redacted(clean(tool.output))))
    if output:
        _keep([hook.draft(output, Source.TOOL, cwd=hook.cwd)])


def _keep_transcript(hook: Hook) -> None:
    """Keep what is about to be compacted away and is not kept yet; nothing of it is in the context afterwards."""
    if not hook.harness.is_compaction(hook.raw):
        return
    project = project_to_write(None, cwd=hook.cwd, scope=hook.scope) or ANY_PROJECT
    tail = hook.tail or (_read(hook) if hook.may_read else None)
    said: Iterable[Turn] = hook.harness.messages(hook.raw)
    if tail:
        said = turns(hook.harness, tail.after(sessions.captured_until(**hook.place)))
    _keep([hook.draft(piece, Source.COMPACTION, project=project) for piece in pieces(said, redact=_redacted)])
    if tail:
        sessions.note_captured(tail.end, **hook.place)
    sessions.start_afresh(**hook.place)


def _read(hook: Hook) -> Tail | None:
    found = transcript_tail(hook.harness.transcript_path(hook.raw), below=hook.harness.folder)
    return Tail(**found) if found else None


def _keep(drafts: Iterable[Draft]) -> frozenset[str]:
    """Remember each text; one that the domain refuses does not keep the others out."""
    uids = set()
    for draft in drafts:
        try:
            kept = remember(draft)
        except MemoriesError as error:
            if error.status >= 500:
                raise
            log.info("A text of a hook was not kept: %s", error)
            continue
        if kept.uid:
            uids.add(kept.uid)
    return frozenset(uids)


def _redacted(text: str) -> str:
    return redact(text)[0] if config().redact_secrets else text
