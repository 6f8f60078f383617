"""What was true when, and which memories contradict each other."""

from django.http import HttpRequest
from ninja import Query, Router, Schema

from memories import listing
from memories.truth import conflicts
from memories.truth.history import Asked, history
from memsite.api import who
from memsite.api.truth_schemas import ConflictOut, ConflictPageOut, HistoryOut, VerdictIn

router = Router()


class HistoryQuery(Schema):
    scope: str | None = None
    project: str | None = None
    uid: str = ""
    as_of: str = ""
    query: str = ""
    since: str = ""
    until: str = ""


@router.get("/api/history", response=HistoryOut, summary="Versions of a fact, what was true at a time, what changed")
def read_history(request: HttpRequest, asked: Query[HistoryQuery], limit: int = 50, offset: int = 0) -> HistoryOut:
    scope = who.scope_of(request, asked.uid) if asked.uid else who.scope(request, asked.scope)
    question = Asked(**asked.model_dump(exclude={"scope"}), scope=scope)
    return HistoryOut.of(history(question, limit=limit, offset=offset))


@router.get("/api/conflicts", response=ConflictPageOut, summary="Pairs of memories that contradict each other")
def list_conflicts(
    request: HttpRequest, scope: str | None = None, state: str = "pending", limit: int = 50, offset: int = 0
) -> ConflictPageOut:
    listing.check_page(limit, offset)
    found = conflicts.visible(scopes=[who.scope(request, scope)], state=state)
    items = [ConflictOut.of(pair) for pair in found[offset : offset + limit]]
    return ConflictPageOut.model_construct(items=items, total=found.count(), limit=limit, offset=offset)


@router.post("/api/conflicts/{pk}", response=ConflictOut, summary="Settle a pair, or undo what was settled")
def settle_conflict(request: HttpRequest, pk: int, body: VerdictIn) -> ConflictOut:
    principal = who.writer(request)
    settled = conflicts.settle(
        pk, body.verdict, actor=principal.name, scopes=principal.scopes, reason=body.reason or ""
    )
    return ConflictOut.of(settled)
