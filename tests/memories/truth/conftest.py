"""A judge behind a real server, as the settings make it, and no trace of another test's."""

import importlib.util
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from memories.models import Conflict, Memory
from memories.truth import judges, judging
from tests.memories.embedders import openai_server
from tests.memories.embedders.openai_server import Server
from tests.requirements import need


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """The numbers of rows begin anew in each test."""
    monkeypatch.setattr(judges, "_made", None)
    monkeypatch.setattr(judging, "_failures", {})
    judging.something_waits.clear()


@pytest.fixture
def server() -> Iterator[Server]:
    need(importlib.util.find_spec("openai"), "needs the openai package: pip install 'memsite[remote]'")
    with openai_server.served() as server:
        yield server


@pytest.fixture
def judged_by(server: Server, configure: Callable[..., None]) -> Iterator[Callable[..., Any]]:
    """Make the server the judge; what it answers comes next."""
    from tests.memories.truth.judges import chats

    made = []

    def use(*answers: openai_server.Answering, per_hour: int = 0) -> Any:
        server.then = list(answers)
        configure(judge="http", judge_url=server.url, judge_model="m", judge_api_key="k", judge_per_hour=per_hour)
        made.append(judges.current())
        return made[-1]

    yield use
    for judge in made:
        chats.closed(judge)


@pytest.fixture
def pair(remembered: Callable[..., Memory]) -> Callable[..., Conflict]:
    """A pair with evidence, as the judge in use leaves it after the write."""

    from tests.memories.truth.judged import NEW, OLD

    def store(subject: str = "billing") -> Conflict:
        remembered(OLD.format(subject), project=subject)
        newer = remembered(NEW.format(subject), project=subject)
        return Conflict.objects.get(newer=newer)

    return store
