"""hook.py with services that lie, hang or are somebody else's."""

import subprocess
import sys
import time
from collections.abc import Callable

import pytest

from tests.memsite.hooks import COMMAND, LATE, ORDER, PROMPT, Liar, Ran, ok, publish, run, spooled
from tests.service import Home

pytestmark = pytest.mark.server
HANGING = [None, b"HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{"]
BROKEN = [
    b"HTTP/1.1 500 Internal Server Error\r\n\r\n{}",
    b"\x00\xff" * 500,
    b"",
    b"HTTP/1.1 200 OK\r\n\r\n<html>",
    b"HTTP/1.1 302 Found\r\nlocation: http://example.com/\r\n\r\n",
    ok([]),
    ok({"decision": "block", "reason": "because"}),
    ok({"continue": False}),
    ok({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny"}}),
    ok({"hookSpecificOutput": "x"}),
]


@pytest.mark.parametrize("reply", [*HANGING, *BROKEN])
def test_a_lying_service_costs_a_prompt_its_budget_at_most(
    home: Home, lying: Callable[[bytes | None], Liar], reply: bytes | None
) -> None:
    publish(home, lying(reply).url)
    assert run(home, "UserPromptSubmit", ORDER).is_silent
    assert [one["content"] for one in spooled(home)] == ["the staging database is called blueberry."]


@pytest.mark.parametrize("status", [b"401 Unauthorized", b"403 Forbidden", b"422 Unprocessable Content"])
def test_what_the_service_refuses_is_not_written_down(
    home: Home, lying: Callable[[bytes | None], Liar], status: bytes
) -> None:
    publish(home, lying(b"HTTP/1.1 " + status + b"\r\n\r\n{}").url)
    assert run(home, "UserPromptSubmit", ORDER).is_silent
    assert spooled(home) == []


def test_a_pipe_that_nobody_writes_to_does_not_hold_it_up(home: Home) -> None:
    began = time.monotonic()
    with subprocess.Popen(
        [*COMMAND, "claude", "UserPromptSubmit"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=home.environment()
    ) as process:
        assert process.wait(timeout=20) == 0
        assert process.stdout
        assert process.stdout.read() == b""
    assert time.monotonic() - began < LATE


@pytest.mark.parametrize(
    ("event", "raw"),
    [
        ("UserPromptSubmit", b""),
        ("UserPromptSubmit", b"{"),
        ("UserPromptSubmit", b"[]"),
        ("UserPromptSubmit", b"\xff\xfe"),
        ("Stop", PROMPT),
        ("PreCompact", {"transcript_path": "/nowhere"}),
        ("PreCompact", {"transcript_path": 3}),
    ],
)
def test_whatever_comes_in_it_ends_well(home: Home, event: str, raw: object) -> None:
    assert run(home, event, raw).is_silent
    assert run(home, event, raw, harness="emacs").is_silent
    assert not spooled(home)


def test_below_a_service_that_a_hook_started_it_does_nothing(home: Home, lying: Callable[[bytes | None], Liar]) -> None:
    liar = lying(ok({}))
    publish(home, liar.url)
    assert run(home, "UserPromptSubmit", ORDER, MEMORY_HOOK_ACTIVE="1").is_silent
    assert (liar.heard, spooled(home)) == ([], [])
    run(home, "UserPromptSubmit", ORDER)
    assert len(liar.heard) == 1


def test_why_nothing_came_is_said_only_to_who_wants_to_know(home: Home) -> None:
    assert "JSONDecodeError" in run(home, "UserPromptSubmit", b"{", MEMORY_PLUGIN_DEBUG="1").err


class TestToken:
    """Whom the token is told."""

    @pytest.fixture
    def liar(self, lying: Callable[[bytes | None], Liar]) -> Liar:
        return lying(ok({}))

    def heard(self, home: Home, liar: Liar, *options: str, **variables: str) -> str:
        assert run(home, "UserPromptSubmit", PROMPT, *options, **variables).is_silent
        head = liar.heard.pop().decode().partition("\r\n\r\n")[0]
        assert head.startswith("POST /hook/claude?event=UserPromptSubmit HTTP/1.0\r\n")
        return head.partition("Authorization: Bearer ")[2]

    def test_the_files_token_goes_to_the_files_service_only(self, home: Home, liar: Liar) -> None:
        publish(home, liar.url, token="of-the-file")
        assert self.heard(home, liar) == "of-the-file"
        assert self.heard(home, liar, MEMORY_PLUGIN_URL=liar.url + "/") == "of-the-file"
        publish(home, "http://127.0.0.1:9", token="of-the-file")
        assert self.heard(home, liar, MEMORY_PLUGIN_URL=liar.url) == ""

    def test_a_token_of_the_environment_wins(self, home: Home, liar: Liar) -> None:
        publish(home, liar.url, token="of-the-file")
        assert self.heard(home, liar, MEMORY_TOKEN="owner") == "owner"
        assert self.heard(home, liar, MEMORY_TOKEN="owner", MEMORY_PLUGIN_TOKEN="mine") == "mine"
        assert self.heard(home, liar, MEMORY_PLUGIN_URL=liar.url, MEMORY_TOKEN="owner") == "owner"

    def test_the_file_may_be_elsewhere(self, home: Home, liar: Liar) -> None:
        publish(home, liar.url, token="of-the-file")
        other = home.discovery.rename(home.path / "other.json")
        assert self.heard(home, liar, "--discovery", str(other)) == "of-the-file"
        assert self.heard(home, liar, MEMORY_DISCOVERY_FILE=str(other)) == "of-the-file"
        other.rename(home.path / "x.db.server.json")
        assert self.heard(home, liar, MEMORY_DB_PATH="~/x.db") == "of-the-file"

    @pytest.mark.parametrize("flaw", ["readable", "link", "dead", "broken"])
    def test_a_file_that_anyone_may_have_written_is_not_believed(self, home: Home, liar: Liar, flaw: str) -> None:
        publish(home, liar.url, token="of-the-file")
        if flaw == "readable":
            home.discovery.chmod(0o644)
        elif flaw == "link":
            home.discovery.rename(home.path / "real.json")
            home.discovery.symlink_to(home.path / "real.json")
        elif flaw == "dead":
            with subprocess.Popen([sys.executable, "-c", ""]) as gone:
                gone.wait()
            publish(home, liar.url, pid=gone.pid)
        else:
            home.discovery.write_text("[]")
        run(home, "UserPromptSubmit", PROMPT)
        assert liar.heard == []


def test_input_without_an_end_costs_neither_time_nor_memory(home: Home) -> None:
    source = subprocess.Popen(["/usr/bin/env", "yes"], stdout=subprocess.PIPE)
    began = time.monotonic()
    try:
        done = subprocess.run(
            [*COMMAND, "claude", "UserPromptSubmit"],
            stdin=source.stdout,
            env=home.environment(),
            capture_output=True,
            timeout=30,
            check=False,
        )
    finally:
        source.kill()
        source.communicate()
    assert Ran(done.returncode, done.stdout.decode(), done.stderr.decode(), time.monotonic() - began).is_silent
