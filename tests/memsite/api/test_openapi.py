import re
from collections.abc import Callable

from tests.memsite.api.conftest import Rest

CALLS = {
    "/ingest": {"post"},
    "/recall": {"post"},
    "/hook/{harness}": {"post"},
    "/inject/report": {"post"},
    "/health": {"get"},
    "/api/stats": {"get"},
    "/api/memories": {"get"},
    "/api/memories/{uid}": {"get", "patch", "delete"},
    "/api/injections": {"get"},
    "/api/maintenance/purge": {"post"},
    "/api/maintenance/backfill": {"post"},
}


def test_the_schema_names_every_call(rest: Rest) -> None:
    schema = rest.get("/api/openapi.json").json
    assert schema["openapi"].startswith("3.")
    calls = {path: set(methods) for path, methods in schema["paths"].items()}
    assert {path: calls.get(path) for path in CALLS} == CALLS
    operations = [call for methods in schema["paths"].values() for call in methods.values()]
    assert all(call["summary"] for call in operations)
    assert len({call["operationId"] for call in operations}) == len(operations)


def test_the_schema_says_what_may_be_sent(rest: Rest) -> None:
    schemas = rest.get("/api/openapi.json").json["components"]["schemas"]
    assert schemas["IngestIn"]["required"] == ["content"]
    limit = schemas["RecallIn"]["properties"]["limit"]
    assert (limit["minimum"], limit["maximum"], limit["default"]) == (1, 50, 5)
    assert schemas["RecallIn"]["properties"]["mode"]["enum"] == ["inject", "search"]


def test_the_page_of_documents_needs_nothing_from_elsewhere(stack: Callable[..., Rest]) -> None:
    page = stack().get("/api/docs")
    assert (page.status, page.media_type) == (200, "text/html")
    text = page.body.decode()
    assert re.findall(r"(?:https?:)?//[\w.-]+", text) == []
    files = re.findall(r'(?:src|href)="(/static/[^"]+)"', text)
    assert files
    for file in files:
        assert stack().get(file).status == 200, file
