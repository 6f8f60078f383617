"""Maintenance behind a double gate: authentication is on, and the token may maintain."""

from django.http import HttpRequest
from ninja import Router

from memories import lifecycle
from memories.errors import Forbidden
from memories.principal import Principal
from memsite import maintenance
from memsite.access import authentication_is_on
from memsite.api import who
from memsite.api.schemas import BackfillOut, PurgedOut

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
