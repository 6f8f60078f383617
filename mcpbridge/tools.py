"""The tools. Each checks who asks, calls one function of the domain in the pool, and gives a small result."""

from typing import TYPE_CHECKING, Annotated, Literal

from mcp.server.mcpserver import Context, MCPServer
from mcp.types import ToolAnnotations
from pydantic import Field

from mcpbridge import acting, pool
from mcpbridge.caller import caller
from mcpbridge.results import Forgotten, History, Listed, Listing, Pair, Pairs, Recall, Run, Stats, Stored
from memories import lifecycle, listing
from memories.errors import Rejected
from memories.places import project_to_read
from memories.recall import Question, recall
from memories.remember import Draft, remember
from memories.truth import conflicts, consolidation, history
from telemetry import injections

if TYPE_CHECKING:
    from memories.models import Memory

ALONE = "No memory service runs beside this one: hooks capture and inject nothing. Start it with: memory-mcp"
MOST_PROJECTS = 20
Kind = Literal["preference", "decision", "fact", "artifact"]
Date = Annotated[str, Field(description="ISO 8601")]
Project = Annotated[str | None, Field(description="owner/name; * = everywhere")]
Cwd = Annotated[str | None, Field(description="Working directory")]
Scope = str | None


WRITES = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
DESTROYS = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=False)
READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)


def add_tools(server: MCPServer, *, alone: bool) -> None:
    """Register every tool; `alone` if no service with hooks runs on the same database."""

    async def memory_stats() -> Stats:
        """How many memories there are and how often they were injected."""
        return await pool.run(stats, alone=alone)

    server.add_tool(memory_store, title="Store a memory", annotations=WRITES)
    server.add_tool(memory_recall, title="Recall memories", annotations=READS)
    server.add_tool(memory_forget, title="Forget a memory", annotations=DESTROYS)
    server.add_tool(memory_list, title="List memories", annotations=READS)
    server.add_tool(memory_history, title="History of facts", annotations=READS)
    server.add_tool(memory_conflicts, title="Contradictions", annotations=WRITES)
    server.add_tool(memory_consolidate, title="Consolidate", annotations=WRITES)
    server.add_tool(memory_stats, title="Memory statistics", annotations=READS)


async def memory_store(
    ctx: Context,
    content: Annotated[str, Field(min_length=1, description="One self-contained statement")],
    kind: Annotated[Kind | None, Field(description="Default: fact")] = None,
    cwd: Cwd = None,
    project: Project = None,
    tags: list[str] | None = None,
    supersedes: Annotated[list[str] | None, Field(description="Memories this replaces")] = None,
    correction: Annotated[bool, Field(description="They were never true")] = False,
    ttl_seconds: Annotated[float | None, Field(gt=0, description="Forget after")] = None,
    valid_from: Date | None = None,
    scope: Scope = None,
) -> Stored:
    """Keep a decision, preference, fact or result for later sessions."""
    who = acting.writer()
    client = _client(ctx)
    draft = Draft(
        content=content,
        kind=kind,
        cwd=cwd or caller.get().cwd,
        project=project,
        tags=tags,
        supersedes=supersedes or (),
        correction=correction,
        ttl_seconds=ttl_seconds,
        valid_from=valid_from,
        source="mcp",
        scope=acting.scope(scope),
        harness=client,
        actor=who.name or client,
    )
    return Stored.of(await pool.write(remember, draft))


async def memory_recall(
    query: Annotated[str, Field(min_length=1)],
    cwd: Cwd = None,
    project: Project = None,
    kinds: list[Kind] | None = None,
    tags: Annotated[list[str] | None, Field(description="All must match")] = None,
    as_of: Annotated[Date | None, Field(description="What was true then")] = None,
    limit: Annotated[int, Field(ge=1, le=50)] = 5,
    scope: Scope = None,
) -> Recall:
    """Search what earlier sessions learned, best first."""
    question = Question(
        query=query,
        mode="search",
        cwd=cwd or caller.get().cwd,
        project=project,
        kinds=kinds or (),
        tags=tags or (),
        as_of=as_of,
        limit=limit,
        scope=acting.scope(scope),
    )
    return Recall.of(await pool.run(recall, question))


async def memory_forget(
    uid: str, chain: Annotated[bool, Field(description="With the versions it replaced")] = False
) -> Forgotten:
    """Take one memory out of use; to replace it, store with supersedes instead."""
    who = acting.writer()
    return Forgotten.of(await pool.write(_forget, uid, actor=who.name, chain=chain))


async def memory_list(
    uid: Annotated[str | None, Field(description="Give this one whole")] = None,
    cwd: Cwd = None,
    project: Project = None,
    kind: Kind | None = None,
    tag: str | None = None,
    state: Literal["live", "superseded", "all"] = "live",
    limit: Annotated[int, Field(ge=1, le=100)] = 20,
    offset: Annotated[int, Field(ge=0)] = 0,
    scope: Scope = None,
) -> Listing:
    """Memories by their attributes, newest first; long texts are cut unless uid is given."""
    if uid:
        return Listing(memories=[await pool.run(whole, uid)], total=1)
    wanted = listing.Filters(
        scope=acting.scope(scope),
        project=project,
        cwd=cwd or caller.get().cwd,
        kind=kind or "",
        tag=tag or "",
        state=state,
    )
    return await pool.run(_page, wanted, limit=limit, offset=offset)


async def memory_history(
    uid: Annotated[str | None, Field(description="Versions of this one")] = None,
    as_of: Annotated[Date | None, Field(description="What was true then")] = None,
    query: Annotated[str | None, Field(description="With as_of: about this")] = None,
    since: Annotated[Date | None, Field(description="What changed since")] = None,
    until: Date | None = None,
    cwd: Cwd = None,
    project: Project = None,
    limit: Annotated[int, Field(ge=1, le=100)] = 20,
    scope: Scope = None,
) -> History:
    """How facts changed: give uid, as_of, or since."""
    if uid:
        scope = (await pool.run(_reachable, uid)).scope
    asked = history.Asked(
        scope=acting.scope(scope),
        uid=uid or "",
        as_of=as_of,
        query=query or "",
        since=since,
        until=until,
        cwd=cwd or caller.get().cwd,
        project=project,
    )
    return await pool.run(_history, asked, limit=limit)


async def memory_conflicts(
    id: Annotated[int | None, Field(description="Settle this one")] = None,  # noqa: A002 - as store and REST name it
    verdict: Annotated[
        Literal["confirmed", "rejected"] | None, Field(description="confirmed: the newer replaces the older")
    ] = None,
    reason: str | None = None,
    state: Literal["pending", "confirmed", "rejected", "all"] = "pending",
    limit: Annotated[int, Field(ge=1, le=50)] = 10,
    scope: Scope = None,
) -> Pairs:
    """List contradictions, or settle a pair: give id and verdict. rejected also undoes."""
    if id is None and verdict is None:
        return await pool.run(_pairs, acting.scope(scope), state=state, limit=limit)
    if id is None or verdict is None:
        raise Rejected("Settling needs both id and verdict.")
    who = acting.writer()
    return await pool.write(_settle, id, verdict, actor=who.name or "agent", reason=reason or "")


async def memory_consolidate(
    cwd: Cwd = None,
    project: Project = None,
    dry_run: Annotated[bool, Field(description="Only show the plan")] = True,
    undo: Annotated[str | None, Field(description="Take this run back")] = None,
    scope: Scope = None,
) -> Run:
    """Make one memory of those that say nearly the same; nothing is lost."""
    who = acting.writer()
    actor, place = who.name or "agent", acting.scope(scope)
    if undo:
        return Run.of(await pool.run(consolidation.undo, undo, actor=actor, scopes=[place]))
    return Run.of(await pool.run(_consolidate, actor, place, project, cwd or caller.get().cwd, dry_run=dry_run))


def _consolidate(
    actor: str, scope: str, project: str | None, cwd: str | None, *, dry_run: bool
) -> consolidation.Consolidated:
    wanted = project_to_read(project, cwd=cwd, scope=scope)
    return consolidation.consolidate(actor=actor, scope=scope, project=wanted, dry_run=dry_run)


def _history(asked: history.Asked, *, limit: int) -> History:
    return History.of(history.history(asked, limit=limit))


def _pairs(scope: str, *, state: str, limit: int) -> Pairs:
    found = conflicts.visible(scopes=[scope], state=state)
    return Pairs(conflicts=[Pair.of(pair) for pair in found[:limit]], total=found.count())


def _settle(pk: int, verdict: str, *, actor: str, reason: str) -> Pairs:
    settled = conflicts.settle(pk, verdict, actor=actor, scopes=acting.scopes(), reason=reason)
    return Pairs(conflicts=[Pair.of(settled)], total=1)


def _reachable(uid: str) -> "Memory":
    return lifecycle.find_in_reach(uid, acting.principal.get())


def whole(uid: str) -> Listed:
    return Listed.whole(lifecycle.find_in_reach(uid, acting.principal.get()))


def stats(*, alone: bool) -> Stats:
    scopes = acting.scopes()
    found, usage = listing.stats(scopes=scopes), injections.usage(scopes=scopes)
    projects = dict(list(found.by_project.items())[:MOST_PROJECTS])
    return Stats(
        by_state=found.by_state,
        by_kind=found.by_kind,
        by_project=projects,
        injections=usage.total,
        database_bytes=found.database_bytes,
        note=ALONE if alone else "",
    )


def _page(wanted: listing.Filters, *, limit: int, offset: int) -> Listing:
    return Listing.of(listing.page(wanted, limit=limit, offset=offset))


def _forget(uid: str, *, actor: str, chain: bool) -> lifecycle.Forgotten:
    scope = lifecycle.find_in_reach(uid, acting.principal.get()).scope
    return lifecycle.forget(uid, actor=actor, scope=scope, chain=chain)


def _client(ctx: Context) -> str:
    """The name of the agent program, as it told it."""
    info = getattr(ctx.session.client_params, "client_info", None) if ctx.session.client_params else None
    return info.name if info else caller.get().client
