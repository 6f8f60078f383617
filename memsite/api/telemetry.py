"""What really entered prompts, and the numbers of the store."""

from django.http import HttpRequest
from ninja import Router, Status

from memories import embedders, listing
from memories.places import project_to_read, project_to_write
from memories.querysets import ANY_PROJECT
from memsite.api import who
from memsite.api.schemas import (
    EmbedderOut,
    InjectionOut,
    InjectionPageOut,
    InjectionTotalsOut,
    MemoryTotalsOut,
    MostInjectedOut,
    ReportIn,
    ReportOut,
    SpoolOut,
    StatsOut,
    VectorTotalsOut,
)
from memsite.spool import spool_state
from telemetry import injections

router = Router()


@router.post("/inject/report", response={202: ReportOut}, summary="A block entered a prompt")
def report_injection(request: HttpRequest, body: ReportIn) -> Status[ReportOut]:
    who.writer(request)
    scope = who.scope(request, body.scope)
    given = body.model_dump(include={"harness", "hook", "session", "query", "fingerprint"}, exclude_none=True)
    project = project_to_write(body.project, cwd=body.cwd, scope=scope)
    report = injections.Report(scope=scope, project=project, uids=body.uids, chars=body.chars, **given)
    return Status(202, ReportOut(accepted=injections.report(report)))


@router.get("/api/injections", response=InjectionPageOut, summary="Injections, newest first")
def list_injections(
    request: HttpRequest,
    scope: str | None = None,
    harness: str | None = None,
    project: str | None = None,
    limit: int = 50,
    offset: int = 0,
) -> InjectionPageOut:
    listing.check_page(limit, offset)
    reached = who.scope(request, scope)
    wanted = project_to_read(project, cwd=None, scope=reached)
    found = injections.visible(
        scopes=[reached], harness=harness or None, project=None if wanted == ANY_PROJECT else wanted
    )
    items = [
        InjectionOut.model_construct(
            **{name: getattr(row, name) for name in InjectionOut.model_fields if name != "uids"},
            uids=[memory.memory_uid for memory in row.memories.all()],
        )
        for row in found[offset : offset + limit]
    ]
    return InjectionPageOut.model_construct(items=items, total=found.count(), limit=limit, offset=offset)


@router.get("/api/stats", response=StatsOut, summary="The store in numbers")
def read_stats(request: HttpRequest) -> StatsOut:
    scopes = who.principal(request).scopes
    stats = listing.stats(scopes=scopes)
    usage = injections.usage(scopes=scopes)
    embedder = embedders.describe()
    most = [MostInjectedOut(uid=uid, count=count) for uid, count in usage.most_injected]
    return StatsOut(
        memories=MemoryTotalsOut(by_state=stats.by_state, by_kind=stats.by_kind, by_project=stats.by_project),
        vectors=VectorTotalsOut(**vars(stats.vectors)),
        database_bytes=stats.database_bytes,
        embedder=EmbedderOut.of(embedder),
        calibration=embedder.calibration,
        injections=InjectionTotalsOut(**{**vars(usage), "most_injected": most}),
        spool=SpoolOut(**vars(spool_state())),
    )
