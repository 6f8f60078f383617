"""The plugin in the real opencode, with the real service and a model that stands for a provider."""

import contextlib
import subprocess
import sys
from pathlib import Path

import pytest

from tests.opencode_plugin.conftest import FACT
from tests.opencode_plugin.model import SHELL, Model
from tests.opencode_plugin.opencode import PLUGIN, Opencode
from tests.service import Home, Service, until

pytestmark = pytest.mark.server

QUESTION = "when does the deploy key of the shop rotate?"
DECIDED = "We decided that the billing worker retries five times with jitter, because the payment provider throttles."


def injections(service: Service, session: str) -> list[dict[str, object]]:
    items = service.ask("GET", "/api/injections?harness=opencode")[1]["items"]
    return [one for one in items if one["session"] == session]


def until_recalled(text: str, opencode: Opencode, model: Model, session: str, prompt: str) -> None:
    """On a busy machine an answer may miss its budget, and then nothing is asked for ten seconds.

    After twenty prompts the service would bring back what it believes to be in the context.
    """
    for _ in range(15):
        opencode.say(session, prompt)
        if text in model.last_prompt.partition("<semantic-memory>")[2]:
            return
    pytest.fail(f"not recalled: {text}")


def test_a_block_enters_the_prompt_once_stays_there_and_is_counted(
    running: Service, opencode: Opencode, model: Model
) -> None:
    session = opencode.new_session()
    until_recalled(FACT, opencode, model, session, QUESTION)
    found = until(lambda: injections(running, session))
    assert [one["query"] for one in found] == [QUESTION]
    opencode.say(session, QUESTION)
    assert FACT not in model.last_prompt
    first, second = model.turns[-2:]
    assert second[: len(first)] == first


def test_what_compaction_takes_away_is_kept_and_the_block_comes_again(
    running: Service, opencode: Opencode, model: Model
) -> None:
    session = opencode.new_session()
    until_recalled(FACT, opencode, model, session, QUESTION)
    opencode.say(session, DECIDED)
    assert running.found("billing worker retries") == []
    opencode.compact(session)
    kept = until(lambda: running.found("billing worker retries"))
    assert DECIDED in kept[0]
    assert all("semantic-memory" not in text for text in kept)
    until_recalled(FACT, opencode, model, session, QUESTION)
    another = opencode.new_session()
    question = "how many times does the billing worker retry with jitter?"
    until_recalled("retries five times", opencode, model, another, question)


def test_what_a_person_asks_to_remember_is_there_in_the_next_session(
    running: Service, opencode: Opencode, model: Model
) -> None:
    session = opencode.new_session()

    def remembered() -> list[str]:
        opencode.say(session, "Remember that the staging database is called heron.")
        return running.found("staging database heron")

    until(remembered, seconds=120)
    until_recalled("heron", opencode, model, opencode.new_session(), "what is the staging database called?")


def test_the_output_of_chosen_tools_is_kept(running: Service, opencode: Opencode) -> None:
    session = opencode.new_session()

    def kept() -> list[str]:
        opencode.say(session, f"{SHELL}echo the warehouse has $((40 + 2)) shelves")
        return running.found("warehouse shelves")

    assert "the warehouse has 42 shelves" in until(kept, seconds=120)[0]


def test_a_block_comes_again_when_the_turn_that_brought_it_was_taken_back(opencode: Opencode, model: Model) -> None:
    session = opencode.new_session()
    until_recalled(FACT, opencode, model, session, QUESTION)
    opencode.take_back(session)
    until_recalled(FACT, opencode, model, session, QUESTION)


def test_while_the_service_is_down_turns_go_on_and_what_must_not_be_lost_is_kept_for_it(
    binary: Path, home: Home, model: Model
) -> None:
    hook = [sys.executable, "-I", "-S", str(PLUGIN.parent / "memsite/hook.py")]
    turns = len(model.turns)
    with contextlib.closing(Opencode(binary, home, model)) as opencode:
        opencode.start(hook=hook)
        session = opencode.new_session()
        opencode.say(session, "Remember that the staging database is called heron.")
        opencode.say(session, DECIDED)
        opencode.compact(session)
        spool = home.data / "memory.db.spool.jsonl"
        until(lambda: spool.exists() and "heron" in spool.read_text() and "billing" in spool.read_text())
    assert len(model.turns) == turns + 2
    service = home.start()
    until(lambda: service.found("staging database heron") and service.found("billing worker retries"))
    assert not spool.exists()


def test_what_goes_to_the_service_on_this_machine_passes_no_proxy(running: Service, binary: Path, user: Home) -> None:
    nobody = "http://127.0.0.1:9"
    proxies = dict.fromkeys(("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY"), nobody)
    environment = user.environment(**proxies, NO_PROXY="", no_proxy="", BUN_BE_BUN="1")
    answer = subprocess.run(
        [binary, "run", Path(__file__).with_name("through_proxy.ts"), PLUGIN, running.url],
        env=environment,
        cwd=user.path,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        check=True,
    )
    assert FACT in answer.stdout, answer.stderr
