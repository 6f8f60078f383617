"""The official conformance scenarios of both revisions: the product's own, and all others against everything.py."""

import re
from pathlib import Path

import pytest

from tests.conformance.conftest import Tools, mcp_url
from tests.service import Home

pytestmark = pytest.mark.server

HERE = Path(__file__).parent
HANDSHAKE, STATELESS = "2025-11-25", "2026-07-28"
OF_BOTH = [
    "completion-complete",
    "dns-rebinding-protection",
    "prompts-list",
    "resources-list",
    "server-sse-multiple-streams",
    "tools-list",
]
OF_ONE = {
    HANDSHAKE: ["ping", "server-initialize"],
    STATELESS: ["caching", "http-header-validation", "sep-2164-resource-not-found", "server-stateless"],
}
UNSCORED = {
    HANDSHAKE: ["json-schema-2020-12"],
    STATELESS: ["http-custom-header-server-validation", "http-header-validation", "json-schema-2020-12"],
}
"""Scenarios that the suite runs too, and whose failures do not change its exit code."""
SCENARIOS = [(revision, scenario) for revision, own in OF_ONE.items() for scenario in OF_BOTH + own]


@pytest.mark.parametrize(("revision", "scenario"), SCENARIOS)
def test_the_service_passes_what_needs_no_tool_of_the_suite(
    tools: Tools, served: Home, revision: str, scenario: str
) -> None:
    result = tools.run(
        "conformance",
        "server",
        f"--url={mcp_url(served.started[0])}",
        f"--scenario={scenario}",
        f"--spec-version={revision}",
        f"--expected-failures={HERE / f'baseline.service.{revision}.yml'}",
        home=served,
    )

    assert result.returncode == 0, result.stdout + result.stderr
    assert "SKIPPED: scenario" not in result.stdout, "it does not exist in this revision"


@pytest.mark.parametrize("revision", [HANDSHAKE, STATELESS])
def test_the_stack_passes_all_that_a_revision_requires_but_what_it_does_not_offer(
    tools: Tools, everything: Home, revision: str
) -> None:
    result = tools.run(
        "conformance",
        "server",
        f"--url={mcp_url(everything.started[0])}",
        f"--requirements={revision}",
        f"--expected-failures={HERE / f'baseline.{revision}.yml'}",
        home=everything,
    )

    assert result.returncode == 0, result.stdout + result.stderr
    passed = set(re.findall(r"✓ (\S+): [1-9]\d* passed, 0 failed", result.stdout))
    assert passed >= {"tools-call-simple-text", *UNSCORED[revision]}
