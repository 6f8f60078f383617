"""Maintenance. What destroys or costs much is behind a double gate: authentication is on, the token may maintain."""

from django.http import HttpRequest
from ninja import Router

from memories import lifecycle
from memories.errors import Forbidden
from memories.places import project_to_read
from memories.principal import Principal
from memories.truth import consolidation
from memsite import maintenance
from memsite.access import authentication_is_on
from memsite.api import who
from memsite.api.schemas import BackfillOut, PurgedOut
from memsite.api.truth_schemas import ConsolidatedOut, ConsolidateIn

router = Router()


def maintainer(request: HttpRequest) -> Principal:
    if not authentication_is_on():
        raise Forbidden("Maintenance over HTTP needs authentication: set MEMORY_TOKEN, or run memory-mcp purge.")
    principal = who.principal(request)
    principal.check_maintain()
    return principal


@router.post("/purge", response=PurgedOut, summary="Remove what is forgotten or expired from the disk")
def purge(request: HttpRequest) -> PurgedOut:
    return PurgedOut(**vars(maintenance.purge(actor=maintainer(request).name)))


@router.post("/backfill", response=BackfillOut, summary="Make vectors that are missing")
def backfill(request: HttpRequest) -> BackfillOut:
    maintainer(request)
    return BackfillOut(**vars(lifecycle.backfill()))


@router.post("/consolidate", response=ConsolidatedOut, summary="Make one memory of those that say nearly the same")
def consolidate(request: HttpRequest, body: ConsolidateIn) -> ConsolidatedOut:
    """It destroys nothing, so whoever may write may consolidate."""
    principal = who.writer(request)
    scope = who.scope(request, body.scope)
    if body.undo is not None:
        undone = consolidation.undo(body.undo, actor=principal.name, scopes=[scope])
        return ConsolidatedOut(**vars(undone))
    done = consolidation.consolidate(
        actor=principal.name,
        scope=scope,
        project=project_to_read(body.project, cwd=None, scope=scope),
        dry_run=body.dry_run,
    )
    return ConsolidatedOut.of(done)
