"""REST: django-ninja views that read a request, call one function of the domain and shape its answer."""

from ninja import NinjaAPI

from memsite.api import health, hooks, maintenance, memories, telemetry, truth
from memsite.api.errors import install
from memsite.api.parsing import JsonParser
from memsite.api.rendering import ExactRenderer
from memsite.version import VERSION

api = NinjaAPI(
    title="memsite",
    version=VERSION,
    description="A persistent memory for coding agents.",
    openapi_url="/api/openapi.json",
    docs_url="/api/docs",
    parser=JsonParser(),
    renderer=ExactRenderer(),
)
api.add_router("", health.router, tags=["service"])
api.add_router("", memories.router, tags=["memories"])
api.add_router("", truth.router, tags=["truth"])
api.add_router("", hooks.router, tags=["hooks"])
api.add_router("", telemetry.router, tags=["injections"])
api.add_router("/api/maintenance", maintenance.router, tags=["maintenance"])
install(api)
