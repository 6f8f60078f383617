"""What a test needs of the machine: without it the test is skipped, or failed where everything must run."""

import os

import pytest


def need(found: object, reason: str) -> None:
    """`MEMSITE_REQUIRE=all` turns a missing part into a failure."""
    if not found:
        (pytest.fail if os.environ.get("MEMSITE_REQUIRE") == "all" else pytest.skip)(reason)
