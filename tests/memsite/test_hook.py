"""hook.py as agent programs run it: a process of its own, with the real service, a dead one, and lying ones."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from memsite import discovery, hook
from tests.planted import SECRETS
from tests.service import MARKER, Home, Service, until

pytestmark = pytest.mark.server
COMMAND = [sys.executable, "-I", "-S", hook.__file__]
BUDGET = 1.5
LATE = BUDGET + 1.0
"""Seconds, with some for a busy machine."""
FACT = "The deploy key rotates on Tuesdays."
PROMPT = {"session_id": "s1", "cwd": "/w/acme/shop", "prompt": "when does the deploy key rotate?"}
ORDER = {**PROMPT, "prompt": "Remember that the staging database is called blueberry."}


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str
    seconds: float

    @property
    def is_silent(self) -> bool:
        return (self.code, self.out, self.err) == (0, "", "") and self.seconds < LATE

    @property
    def block(self) -> str:
        assert self.code == 0
        text: str = json.loads(self.out)["hookSpecificOutput"]["additionalContext"]
        return text


def run(home: Home, event: str, raw: object, *options: str, harness: str = "claude", **variables: str) -> Ran:
    began = time.monotonic()
    done = subprocess.run(
        [*COMMAND, harness, event, *options],
        input=raw if isinstance(raw, bytes) else json.dumps(raw).encode(),
        env=home.environment(**variables),
        cwd=home.path,
        capture_output=True,
        timeout=30,
        check=False,
    )
    return Ran(done.returncode, done.stdout.decode("ascii"), done.stderr.decode(), time.monotonic() - began)


def spooled(home: Home) -> list[dict[str, Any]]:
    path = home.data / "memory.db.spool.jsonl"
    if not path.exists():
        return []
    assert path.stat().st_mode & 0o777 == 0o600
    return [json.loads(line) for line in path.read_text().splitlines()]


def publish(home: Home, url: str, **fields: object) -> None:
    service = {"url": url, "mcp_url": url + "/mcp", "port": 1, "pid": os.getpid(), **fields}
    home.data.mkdir(parents=True, exist_ok=True)
    home.discovery.touch(0o600)
    home.discovery.write_text(json.dumps(service))


@pytest.fixture
def service(home: Home, settled: None) -> Service:
    service = home.start()
    assert service.url
    return service


@dataclass
class Liar:
    """Answers every connection with the same bytes, or never."""

    reply: bytes | None
    listener: socket.socket = field(default_factory=lambda: socket.create_server(("127.0.0.1", 0)))
    heard: list[bytes] = field(default_factory=list)
    held: list[socket.socket] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.listener.getsockname()[1]}"

    def work(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.listener.accept()
                self.held.append(connection)
                if self.reply is not None:
                    self.heard.append(connection.recv(1_000_000))
                    connection.sendall(self.reply)
                    connection.shutdown(socket.SHUT_WR)

    def end(self) -> None:
        self.listener.shutdown(socket.SHUT_RDWR)
        for one in (self.listener, *self.held):
            one.close()


@pytest.fixture
def lying() -> Iterator[Callable[[bytes | None], Liar]]:
    liars: list[tuple[Liar, threading.Thread]] = []

    def start(reply: bytes | None) -> Liar:
        liar = Liar(reply)
        thread = threading.Thread(target=liar.work)
        liars.append((liar, thread))
        thread.start()
        return liar

    yield start
    for liar, thread in liars:
        liar.end()
        thread.join(5)


def ok(body: object) -> bytes:
    return b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n" + json.dumps(body).encode()


def test_a_prompt_gets_its_block_once(home: Home, service: Service) -> None:
    service.keep(FACT)
    first = run(home, "UserPromptSubmit", PROMPT)
    assert FACT in first.block
    assert first.err == ""
    assert run(home, "UserPromptSubmit", PROMPT).is_silent
    assert run(home, "SessionStart", {**PROMPT, "source": "resume"}).is_silent
    assert run(home, "UserPromptSubmit", PROMPT).is_silent
    assert run(home, "SessionStart", {**PROMPT, "source": "clear"}).is_silent
    assert run(home, "UserPromptSubmit", PROMPT).block == first.block
    assert service.ask("GET", "/api/injections")[1]["total"] == 2


def test_the_users_wishes_travel_with_the_request(home: Home, service: Service) -> None:
    for number in range(5):
        service.keep(f"Deploy key {number} rotates on Tuesdays.")
    wishes = {"MEMORY_PLUGIN_LIMIT": "2", "MEMORY_PLUGIN_CHAT_CAPTURE": "1"}
    assert run(home, "UserPromptSubmit", PROMPT, **wishes).block.count("\n- [fact") == 2
    assert run(home, "UserPromptSubmit", PROMPT, MEMORY_PLUGIN_BUDGET_CHARS="10").is_silent
    assert run(home, "UserPromptSubmit", {**PROMPT, "session_id": "s2"}, MEMORY_PLUGIN_LIMIT="many").block


def test_a_large_tool_output_travels_whole(home: Home, service: Service) -> None:
    output = {"stdout": "first " + "x " * 150_000 + " last"}
    raw = {**PROMPT, "tool_name": "Bash", "tool_input": {"command": "make"}, "tool_response": output}
    assert run(home, "PostToolUse", raw).is_silent
    assert service.found("first last") == []
    assert run(home, "PostToolUse", raw, MEMORY_PLUGIN_TOOL_CAPTURE="read,shell").is_silent
    [kept] = service.found("first last")
    assert kept.startswith("Bash (make):\nfirst x")
    assert kept.endswith("x  last")


def test_a_transcript_is_kept_from_where_the_last_compaction_ended(home: Home, service: Service) -> None:
    path = home.path / "t.jsonl"
    lines = [
        json.dumps({"type": "user", "message": {"role": "user", "content": f"cart number {number} lives in Redis"}})
        for number in range(4)
    ]
    path.write_text(f"{lines[0]}\n{lines[1]}\n{lines[2]}"[:-5])  # the last line is being written
    raw = {**PROMPT, "transcript_path": str(path), "trigger": "manual"}
    assert run(home, "PreCompact", raw).is_silent
    found = {f"User: cart number {number} lives in Redis" for number in (0, 1)}
    assert set(service.found("cart Redis")) == found
    path.write_text("\n".join(lines) + "\n")
    assert run(home, "PreCompact", raw).is_silent
    assert len(service.found("cart Redis")) == 4
    assert spooled(home) == []


def test_without_a_service_nothing_is_said_and_only_what_must_not_be_lost_is_written(home: Home) -> None:
    assert run(home, "UserPromptSubmit", PROMPT).is_silent
    assert run(home, "SessionStart", {**PROMPT, "source": "startup"}).is_silent
    assert run(home, "PostToolUse", {**PROMPT, "tool_name": "Bash"}, MEMORY_PLUGIN_TOOL_CAPTURE="*").is_silent
    assert run(home, "UserPromptSubmit", {**PROMPT, "prompt": "do you remember the deploy key?"}).is_silent
    assert not home.data.exists()
    secret = f"Remember that the key is {SECRETS['aws']}."
    assert run(home, "UserPromptSubmit", {**PROMPT, "prompt": secret}).is_silent
    assert run(home, "UserPromptSubmit", {**PROMPT, "prompt": "记住部署密钥每周二轮换"}).is_silent
    line = {"type": "user", "message": {"role": "user", "content": "the cart lives in Redis now"}}
    path = home.path / "t.jsonl"
    path.write_text(json.dumps(line) + "\n")
    assert run(home, "PreCompact", {**PROMPT, "transcript_path": str(path)}).is_silent
    until(lambda: len(spooled(home)) == 3)
    assert [(one["source"], one["content"]) for one in spooled(home)] == [
        ("chat", "the key is [redacted:aws-access-key]."),
        ("chat", "部署密钥每周二轮换"),
        ("compaction", "User: the cart lives in Redis now"),
    ]


def test_what_was_written_down_is_remembered_when_the_service_is_back(home: Home, settled: None) -> None:
    assert run(home, "UserPromptSubmit", ORDER).is_silent
    assert len(spooled(home)) == 1
    service = home.start()
    assert until(lambda: service.found("blueberry")) == ["the staging database is called blueberry."]
    until(lambda: spooled(home) == [])
    stats = service.ask("GET", "/api/stats")[1]
    assert stats["spool"] == {"lines": 0, "bytes": 0}


def test_the_plugin_hands_over_what_it_could_not_send(home: Home) -> None:
    raw = {
        "hook_event_name": "PreCompact",
        "session_id": "s1",
        "cwd": "/w/acme/shop",
        "messages": [{"role": "user", "text": "the cart lives in Redis now"}],
        "memory": {"budget_ms": 1000},
    }
    assert run(home, "PreCompact", raw, harness="opencode").is_silent
    [line] = until(lambda: spooled(home))
    assert (line["harness"], line["content"]) == ("opencode", "User: the cart lives in Redis now")


def test_a_large_transcript_is_written_down_though_the_agent_does_not_wait(
    home: Home, lying: Callable[[bytes | None], Liar]
) -> None:
    said = [f"Paragraph {number}: " + "the cart lives in Redis and nowhere else. " * 30 for number in range(1500)]
    path = home.path / "t.jsonl"
    lines = (json.dumps({"type": "user", "message": {"role": "user", "content": text}}) for text in said)
    path.write_text("\n".join(lines) + "\n")
    publish(home, lying(None).url)
    assert run(home, "PreCompact", {**PROMPT, "transcript_path": str(path)}).is_silent
    written = until(lambda: [one for one in spooled(home) if "Paragraph 1499:" in one["content"]])
    assert len(written) == 1
    assert path.stat().st_size > hook.TAIL / 2


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


class TestAutostart:
    @pytest.fixture
    def unstarted(self, home: Home, settled: None) -> Iterator[Home]:
        """A home whose service is ended afterwards, by the pid that it published."""
        yield home
        running = discovery.read(home.discovery)
        if running:
            os.kill(running.pid, signal.SIGTERM)
            until(lambda: not home.discovery.exists())

    def log(self, home: Home) -> str:
        path = home.data / "memory.db.log"
        return path.read_text() if path.exists() else ""

    def test_ten_sessions_that_begin_at_once_start_one_service_and_say_it_once(self, unstarted: Home) -> None:
        begin = {**PROMPT, "source": "startup"}
        with ThreadPoolExecutor(10) as pool:
            ran = list(pool.map(lambda _: run(unstarted, "SessionStart", begin, "--autostart"), range(10)))
        said = [one.out for one in ran if one.out]
        assert [one.code for one in ran] == [0] * 10
        assert all(one.seconds < 3 * LATE for one in ran)
        assert len(said) == 1
        assert json.loads(said[0]).keys() == {"systemMessage"}
        running = until(lambda: discovery.read(unstarted.discovery))
        assert until(lambda: discovery.health(running.url))["pid"] == running.pid
        assert self.log(unstarted).count(MARKER) == 1
        environment = Path(f"/proc/{running.pid}/environ")
        assert not environment.exists() or b"MEMORY_HOOK_ACTIVE=1" in environment.read_bytes()
        assert run(unstarted, "SessionStart", begin, "--autostart").is_silent
        os.kill(running.pid, signal.SIGTERM)
        until(lambda: not unstarted.discovery.exists())
        until(lambda: not Path(f"/proc/{running.pid}").exists() or is_zombie(running.pid))
        assert run(unstarted, "SessionStart", begin, MEMORY_PLUGIN_AUTOSTART="1").out == ""
        assert until(lambda: discovery.read(unstarted.discovery)).pid != running.pid

    def test_nothing_else_starts_it(self, unstarted: Home, lying: Callable[[bytes | None], Liar]) -> None:
        begin = {**PROMPT, "source": "startup"}
        assert run(unstarted, "UserPromptSubmit", PROMPT, "--autostart").is_silent
        assert run(unstarted, "SessionStart", begin).is_silent
        assert run(unstarted, "SessionStart", begin, MEMORY_PLUGIN_AUTOSTART="0").is_silent
        elsewhere = {"MEMORY_PLUGIN_URL": "http://127.0.0.1:9"}
        assert run(unstarted, "SessionStart", begin, "--autostart", **elsewhere).is_silent
        publish(unstarted, lying(None).url)
        assert run(unstarted, "SessionStart", begin, "--autostart").is_silent
        unstarted.discovery.unlink()
        assert not (unstarted.data / "memory.db.log").exists()


def is_zombie(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
