"""Storing, recalling, listing, changing and forgetting memories."""

from typing import Any

from django.http import HttpRequest
from ninja import Query, Router, Schema, Status

from memories import clock, lifecycle, listing
from memories.draft import rest_of_ttl
from memories.edit import edit
from memories.errors import Rejected
from memories.querysets import ANY_PROJECT
from memories.recall import Question, recall
from memories.remember import Draft, remember
from memories.truth.chains import chain_of
from memsite.api import who
from memsite.api.schemas import (
    IngestIn,
    MemoryOut,
    MemoryPageOut,
    MemoryPatch,
    MemoryWithChainOut,
    RecallIn,
    RecallOut,
    RememberedOut,
)
from telemetry import sessions

router = Router()


@router.post("/ingest", response={200: RememberedOut, 201: RememberedOut}, summary="Keep a text")
def ingest(request: HttpRequest, body: IngestIn) -> Status[Any]:
    principal = who.writer(request)
    given = body.model_dump(exclude_none=True, exclude={"scope", "actor"})
    actor = body.actor or principal.name
    kept = remember(Draft(**given, scope=who.scope(request, body.scope), actor=actor))
    return Status(201 if kept.status == "created" else 200, RememberedOut.of(kept))


@router.post("/recall", response=RecallOut, summary="What is known that bears on a query")
def recall_memories(request: HttpRequest, body: RecallIn) -> RecallOut:
    scope = who.scope(request, body.scope)
    context = _context(body, scope=scope)
    recalled = recall(
        Question(
            query=body.query,
            mode=body.mode,
            scope=scope,
            project=body.project,
            cwd=body.cwd,
            limit=body.limit,
            budget_chars=body.budget_chars,
            kinds=body.kinds or (),
            tags=body.tags or (),
            as_of=body.as_of,
            exclude=context.uids,
            fingerprint="" if body.session else body.fingerprint or "",
        )
    )
    return RecallOut.of(recalled, known_fingerprint=context.fingerprint or body.fingerprint or "")


def _context(body: RecallIn, *, scope: str) -> sessions.Context:
    """What the session has in its context already; without a session, or when searching, nothing is left out."""
    if body.mode != "inject" or not body.session:
        return sessions.Context()
    return sessions.next_prompt(scope=scope, harness=body.harness or "", session=body.session, reset=body.reset)


class MemoryFilters(Schema):
    scope: str | None = None
    project: str | None = None
    kind: str = ""
    tier: str = ""
    source: str = ""
    harness: str = ""
    tag: str = ""
    state: str = "live"
    q: str = ""
    as_of: str = ""


@router.get("/api/memories", response=MemoryPageOut, summary="Memories, newest updated first")
def list_memories(
    request: HttpRequest, filters: Query[MemoryFilters], limit: int = 50, offset: int = 0
) -> MemoryPageOut:
    given = filters.model_dump(exclude={"scope"})
    wanted = listing.Filters(**given, scope=who.scope(request, filters.scope))
    return MemoryPageOut.of(listing.page(wanted, limit=limit, offset=offset))


@router.get("/api/memories/{uid}", response=MemoryWithChainOut, summary="One memory with its chain")
def read_memory(request: HttpRequest, uid: str) -> MemoryWithChainOut:
    memory = lifecycle.find(uid, scope=who.scope_of(request, uid))
    return MemoryWithChainOut.with_chain(memory, chain_of(memory))


@router.patch("/api/memories/{uid}", response=MemoryOut, summary="Change a memory")
def change_memory(request: HttpRequest, uid: str, body: MemoryPatch) -> MemoryOut:
    """New content is a new memory that supersedes the old one: the answer has the new uid."""
    principal = who.writer(request)
    scope = who.scope_of(request, uid)
    metadata = body.model_dump(include={"tags", "kind", "project", "pinned"}, exclude_none=True)
    if body.content is None:
        if not metadata:
            raise Rejected("Nothing to change: give content, tags, kind, project or pinned.")
        return MemoryOut.of(edit(uid, actor=principal.name, scope=scope, **metadata))
    if metadata.get("project") == "":  # here it is a value, not the absence of one
        metadata["project"] = ANY_PROJECT
    draft = Draft(
        content=body.content,
        correction=body.correction,
        supersedes=[uid],
        ttl_seconds=rest_of_ttl(lifecycle.find(uid, scope=scope), now=clock.now()),
        scope=scope,
        actor=principal.name,
        **metadata,
    )
    kept = remember(draft)
    if kept.uid == uid:  # the same text: there is only its metadata to change
        return MemoryOut.of(edit(uid, actor=principal.name, scope=scope, **metadata))
    return MemoryOut.of(lifecycle.find(str(kept.uid), scope=scope))


@router.delete("/api/memories/{uid}", response={204: None}, summary="Forget a memory")
def forget_memory(request: HttpRequest, uid: str, *, chain: bool = False) -> Status[None]:
    principal = who.writer(request)
    lifecycle.forget(uid, actor=principal.name, scope=who.scope_of(request, uid), chain=chain)
    return Status(204, None)
