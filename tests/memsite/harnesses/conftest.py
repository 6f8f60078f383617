"""The fixtures of REST: streams of events go through it."""

from tests.memsite.api.conftest import rest, stack, token

__all__ = ["rest", "stack", "token"]
