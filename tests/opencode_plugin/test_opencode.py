"""The plugin in the real opencode, with the real service and a model that stands for a provider."""

import sys
from pathlib import Path

import pytest

from tests.opencode_plugin.model import SHELL, Model
from tests.opencode_plugin.opencode import Opencode
from tests.service import Home, Service, until

pytestmark = pytest.mark.server

FACT = "The deploy key of the shop rotates on Tuesdays."
QUESTION = "when does the deploy key of the shop rotate?"
DECIDED = "We decided that the billing worker retries five times with jitter, because the payment provider throttles."


@pytest.fixture
def running(home: Home) -> Service:
    service = home.start()
    assert service.keep(FACT, project="*") == 201
    return service


def injections(service: Service) -> list[dict[str, object]]:
    return list(service.ask("GET", "/api/injections?harness=opencode")[1]["items"])


def test_a_block_enters_the_prompt_once_stays_there_and_is_counted(
    running: Service, opencode: Opencode, model: Model
) -> None:
    opencode.start()
    session = opencode.new_session()
    opencode.say(session, QUESTION)
    assert FACT in model.last_prompt
    opencode.say(session, QUESTION)
    assert FACT not in model.last_prompt
    first, second = model.turns
    assert second[: len(first)] == first
    found = until(lambda: injections(running))
    assert [one["session"] for one in found] == [session]
    assert found[0]["query"] == QUESTION


def test_what_compaction_takes_away_is_kept_and_the_block_comes_again(
    running: Service, opencode: Opencode, model: Model
) -> None:
    opencode.start()
    session = opencode.new_session()
    opencode.say(session, QUESTION)
    opencode.say(session, DECIDED)
    assert running.found("billing worker retries") == []
    opencode.compact(session)
    kept = until(lambda: running.found("billing worker retries"))
    assert DECIDED in kept[0]
    assert all("semantic-memory" not in text for text in kept)
    opencode.say(session, QUESTION)
    assert FACT in model.last_prompt
    opencode.say(opencode.new_session(), "how many times does the billing worker retry with jitter?")
    assert "retries five times" in model.last_prompt


def test_what_a_person_asks_to_remember_is_there_in_the_next_session(
    running: Service, opencode: Opencode, model: Model
) -> None:
    opencode.start()
    opencode.say(opencode.new_session(), "Remember that the staging database is called heron.")
    opencode.say(opencode.new_session(), "what is the staging database called?")
    assert "heron" in model.last_prompt.partition("<semantic-memory>")[2]


def test_the_output_of_chosen_tools_is_kept(running: Service, opencode: Opencode) -> None:
    opencode.start(tool_capture=["shell"])
    opencode.say(opencode.new_session(), f"{SHELL}echo the warehouse has $((40 + 2)) shelves")
    assert "the warehouse has 42 shelves" in until(lambda: running.found("warehouse shelves"))[0]


def test_a_block_comes_again_when_the_turn_that_brought_it_was_taken_back(
    running: Service, opencode: Opencode, model: Model
) -> None:
    opencode.start()
    session = opencode.new_session()
    opencode.say(session, QUESTION)
    opencode.take_back(session)
    opencode.say(session, QUESTION)
    assert FACT in model.last_prompt


def test_while_the_service_is_down_turns_go_on_and_what_must_not_be_lost_is_kept_for_it(
    home: Home, opencode: Opencode, model: Model
) -> None:
    hook = Path(__file__).parents[2] / "memsite/hook.py"
    opencode.start(hook=[sys.executable, "-I", "-S", str(hook)])
    session = opencode.new_session()
    opencode.say(session, "Remember that the staging database is called heron.")
    opencode.say(session, DECIDED)
    opencode.compact(session)
    assert len(model.turns) == 2
    spool = home.data / "memory.db.spool.jsonl"
    until(lambda: spool.exists() and "heron" in spool.read_text() and "billing" in spool.read_text())
    service = home.start()
    until(lambda: service.found("staging database heron") and service.found("billing worker retries"))
    assert not spool.exists()
