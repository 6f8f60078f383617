"""Whether the service lives. Open to everyone who reaches it, so nothing private."""

import os

from django.http import HttpRequest
from ninja import Router

from memories import embedders, listing
from memsite.api.schemas import EmbedderOut, HealthOut
from memsite.version import VERSION

router = Router()


@router.get("/health", response=HealthOut, summary="Is it up?")
def health(request: HttpRequest) -> HealthOut:
    database = listing.database_state()
    return HealthOut(
        status="ok" if database == "ok" else "degraded",
        version=VERSION,
        database=database,
        embedder=EmbedderOut.of(embedders.describe()),
        pid=os.getpid(),
    )
