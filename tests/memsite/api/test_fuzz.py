"""Whatever a client sends, the answer is never a fault of the service, and the store stays sound."""

import json
from typing import Any

import pytest
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memories import lifecycle

pytestmark = pytest.mark.django_db
TEXT = st.text() | st.sampled_from(
    ["NEAR(", 'say "hi', "a*", "{a b}:c", "\x00" * 50, "\ud800", "数据库 db", "-1", "' OR 1=1"]
)
ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)
FUZZ = settings(
    max_examples=150, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def status(path: str, body: dict[str, Any]) -> int:
    client = Client(raise_request_exception=False)
    return client.post(path, json.dumps(body), content_type="application/json").status_code


@FUZZ
@given(
    st.fixed_dictionaries(
        {"content": TEXT | ANY},
        optional=dict.fromkeys(
            ("kind", "source", "scope", "project", "cwd", "session", "ttl_seconds", "valid_from", "correction"),
            TEXT | ANY,
        )
        | {"tags": st.lists(TEXT, max_size=4) | ANY, "supersedes": st.lists(TEXT, max_size=3) | ANY},
    )
)
def test_ingest_never_faults(body: dict[str, Any]):
    assert status("/ingest", body) < 500


@FUZZ
@given(
    st.fixed_dictionaries(
        {"query": TEXT | ANY},
        optional=dict.fromkeys(
            ("mode", "scope", "project", "cwd", "as_of", "session", "harness", "fingerprint", "limit"), TEXT | ANY
        )
        | {"tags": st.lists(TEXT, max_size=4) | ANY, "kinds": ANY, "budget_chars": st.integers() | ANY},
    )
)
def test_recall_never_faults(body: dict[str, Any]):
    assert status("/recall", body) < 500


@FUZZ
@given(st.lists(TEXT, min_size=1, max_size=5))
def test_the_indexes_agree_with_the_texts_afterwards(contents: list[str]):
    for content in contents:
        assert status("/ingest", {"content": content, "tags": [content[:50]]}) < 500
        assert status("/recall", {"query": content, "mode": "search"}) == 200
    assert lifecycle.problems() == []
