"""Memories that tests of the domain start from, and what is found of them."""

from collections.abc import Callable
from typing import Any

import pytest

from memories.models import Memory
from memories.recall import Question, recall

type Versions = tuple[Memory, Memory, Memory]


def found(query: str, **fields: Any) -> list[str]:
    return [item.memory.content for item in recall(Question(query=query, mode="search", **fields)).items]


@pytest.fixture
def versions(remembered: Callable[..., Memory]) -> Versions:
    """Three versions of a fact, the newest last."""
    first = remembered("the cap is 1k")
    second = remembered("the cap is 2k", supersedes=[first.uid])
    return first, second, remembered("the cap is 3k", supersedes=[second.uid])
