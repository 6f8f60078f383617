"""Whatever a client sends, the answer is never a fault of the service, and the store stays sound."""

import json
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memories import lifecycle
from memories.models import Memory
from memories.remember import Draft, remember
from tests.memsite.api.conftest import views_alone

pytestmark = pytest.mark.django_db
TEXT = st.text() | st.sampled_from(
    ["NEAR(", 'say "hi', "a*", "{a b}:c", "\x00" * 50, "\ud800", "数据库 db", "-1", "' OR 1=1", "parrot", "*", "/", "~"]
)
NUMBER = st.integers() | st.floats() | st.sampled_from([0, 1, -1, 2**31, 2**63, 2**64, 10**30, 1e300])
ANY = st.recursive(
    st.none() | st.booleans() | NUMBER | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)
TEXTS = st.lists(TEXT, max_size=4) | ANY
TIME = st.datetimes().map(str) | st.dates().map(str) | st.sampled_from(["9999-12-31T23:59:59-14:00", "0001-01-01"])
FUZZ = settings(max_examples=150, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])

INGEST = {
    "content": TEXT | ANY,
    "kind": st.sampled_from(["fact", "artifact"]) | ANY,
    "source": st.sampled_from(["chat", "tool", "compaction"]) | ANY,
    "ttl_seconds": NUMBER | ANY,
    "valid_from": TIME | TEXT | ANY,
    "tags": TEXTS,
    "supersedes": TEXTS,
    "correction": ANY,
    **dict.fromkeys(("scope", "project", "cwd", "harness", "session", "actor"), TEXT | ANY),
}
RECALL = {
    "query": TEXT | ANY,
    "mode": st.sampled_from(["inject", "search"]) | ANY,
    "limit": st.integers(1, 50) | NUMBER | ANY,
    "budget_chars": st.integers(0, 3000) | NUMBER | ANY,
    "as_of": TIME | TEXT | ANY,
    "tags": TEXTS,
    "kinds": TEXTS,
    "reset": ANY,
    **dict.fromkeys(("scope", "project", "cwd", "harness", "session", "hook", "fingerprint"), TEXT | ANY),
}
REPORT = {
    "uids": TEXTS,
    "chars": NUMBER | ANY,
    **dict.fromkeys(("scope", "project", "cwd", "harness", "session", "hook", "query", "fingerprint"), TEXT | ANY),
}
HOOK = {
    "prompt": TEXT | ANY,
    "tool_name": st.sampled_from(["Bash", "bash"]) | ANY,
    **dict.fromkeys(("tool_input", "tool_response", "tool_output", "toolResult", "toolArgs", "messages"), ANY),
    **dict.fromkeys(
        ("session_id", "sessionId", "cwd", "source", "trigger", "transcript_path", "hook_event_name"), TEXT | ANY
    ),
    "workspace_roots": TEXTS,
    "memory": st.fixed_dictionaries(
        {"tool_capture": st.just("*"), "chat_capture": st.just(value=True)},
        optional={
            "budget_ms": NUMBER,
            "limit": NUMBER,
            "budget_chars": NUMBER,
            "transcript": st.fixed_dictionaries({"start": st.integers(0, 99), "text": TEXT | ANY.map(json.dumps)}),
        },
    )
    | ANY,
}
PATCH = {"content": TEXT | ANY, "tags": TEXTS, **dict.fromkeys(("kind", "project", "pinned", "correction"), TEXT | ANY)}
FILTERS = dict.fromkeys(
    ("scope", "project", "kind", "tier", "source", "harness", "tag", "state", "q"), TEXT.map(lambda text: text[:50])
) | {"as_of": TIME | TEXT, "limit": NUMBER | TEXT, "offset": NUMBER | TEXT}


def a_few_of(fields: dict[str, Any], **given: Any) -> st.SearchStrategy[dict[str, Any]]:
    """A request that is right but for one to three fields: where most are wrong, only the first is ever looked at."""
    names = st.sets(st.sampled_from(sorted(fields)), min_size=1, max_size=3)
    return names.flatmap(lambda chosen: st.fixed_dictionaries({name: fields[name] for name in sorted(chosen)})).map(
        lambda some: given | some
    )


def status(method: str, path: str, body: Any = None) -> int:
    client = views_alone(raise_request_exception=False)
    return client.generic(method, path, json.dumps(body), "application/json").status_code


@FUZZ
@given(a_few_of(INGEST, content="The parrot is green."))
def test_ingest_never_faults(body: dict[str, Any]) -> None:
    assert status("POST", "/ingest", body) < 500


@FUZZ
@given(a_few_of(RECALL, query="parrot", session="s1"))
def test_recall_never_faults(body: dict[str, Any]) -> None:
    remember(Draft(content="The parrot is green."))
    assert status("POST", "/recall", body) < 500


@FUZZ
@given(a_few_of(REPORT, uids=[]))
def test_a_report_never_faults(body: dict[str, Any]) -> None:
    kept = remember(Draft(content="The parrot is green."))
    uids = body["uids"]
    body["uids"] = [*uids, kept.uid] if isinstance(uids, list) else uids
    assert status("POST", "/inject/report", body) < 500


@FUZZ
@given(
    a_few_of(HOOK, session_id="s1", cwd="/w/a/b", prompt="remember that the parrot is green", tool_name="Bash"),
    st.sampled_from(["claude", "codex", "copilot", "cursor", "gemini", "kimi", "opencode", "qwen"]),
    st.sampled_from(["UserPromptSubmit", "SessionStart", "PostToolUse", "PreCompact"]),
)
def test_a_hook_never_faults(body: dict[str, Any], harness: str, event: str) -> None:
    remember(Draft(content="The parrot is green."))
    assert status("POST", f"/hook/{harness}?event={event}", body) < 500


@FUZZ
@given(a_few_of(PATCH))
def test_a_change_never_faults(body: dict[str, Any]) -> None:
    remember(Draft(content="The parrot is green."))
    memory = Memory.objects.live().latest("pk")
    assert status("PATCH", f"/api/memories/{memory.uid}", body) < 500
    assert Memory.objects.live().exists()


@FUZZ
@given(a_few_of(FILTERS), st.sampled_from(["/api/memories", "/api/injections"]))
def test_a_listing_never_faults(query: dict[str, Any], path: str) -> None:
    remember(Draft(content="The parrot is green."))
    assert status("GET", f"{path}?{urlencode(query, errors='surrogatepass')}") < 500


@FUZZ
@given(
    st.sampled_from(["/ingest", "/recall", "/inject/report", "/hook/claude?event=PreCompact"]),
    st.binary() | ANY.map(json.dumps).map(str.encode),
)
def test_a_body_of_any_bytes_never_faults(path: str, body: bytes) -> None:
    client = views_alone(raise_request_exception=False)
    assert client.generic("POST", path, body, "application/json").status_code < 500


@settings(FUZZ, max_examples=30)
@given(st.lists(TEXT, min_size=1, max_size=5))
def test_the_indexes_agree_with_the_texts_afterwards(contents: list[str]) -> None:
    for content in contents:
        assert status("POST", "/ingest", {"content": content, "tags": [content[:50]], "project": content[:20]}) < 500
        assert status("POST", "/recall", {"query": content, "mode": "search"}) == 200
    assert lifecycle.problems() == []
