"""`memory-mcp --stdio`: through the live service, or alone."""

import asyncio
import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from tests.service import COMMAND, Home, until
from tests.stdio import INITIALIZE, INITIALIZED, Child, call, child

pytestmark = pytest.mark.server

MODES = ["auto", "legacy"]


@pytest.fixture(params=["service", "alone"])
def place(request: pytest.FixtureRequest, home: Home) -> Home:
    """A home in which a service runs, or none."""
    if request.param == "service":
        _ = home.start().url
    return home


@pytest.mark.parametrize("mode", MODES)
def test_agents_of_both_eras(place: Home, mode: str) -> None:
    command, *rest = COMMAND
    parameters = StdioServerParameters(command=command, args=[*rest, "--stdio"], env=place.environment())

    async def talk() -> None:
        async with Client(stdio_client(parameters), mode=mode) as client:
            kept = await client.call_tool("memory_store", {"content": "The owl is awake – hélas.\u2028"})
            uid = kept.structured_content["uid"]
            found = await client.call_tool("memory_recall", {"query": "owl"})
            assert found.structured_content["memories"][0]["uid"] == uid
            assert "hélas" in (await client.read_resource(f"memory://{uid}")).contents[0].text
            assert (await client.call_tool("memory_recall", {"query": "owl", "limit": 99})).is_error
            note = (await client.call_tool("memory_stats", {})).structured_content["note"]
            assert bool(note) == (not place.started)

    asyncio.run(talk())


NOISE = """
import os, sys, threading, time, warnings

def make_noise():
    while "mcpbridge.stdio" not in sys.modules:
        time.sleep(0.01)
    time.sleep(0.1)
    while True:
        print("a print", flush=True)
        os.write(1, b"a library in C\\n")
        warnings.warn("an old name", DeprecationWarning)
        time.sleep(0.01)

threading.Thread(target=make_noise, daemon=True).start()
"""


def test_every_line_is_the_protocols_whatever_prints(place: Home, tmp_path: Path) -> None:
    """Also while a migration is pending, as one is in a home where nothing ran."""
    folder = tmp_path / "noise"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(NOISE)
    with child(place, PYTHONPATH=os.pathsep.join([str(folder), *sys.path]), PYTHONWARNINGS="always") as one:
        one.begin()
        for number in range(10):
            kept = one.ask(call(number + 1, "memory_store", content=f"Owl {number} is awake."))
            assert kept["result"]["isError"] is False
            time.sleep(0.03)  # the noise goes on meanwhile
        out, errors = one.close()
        assert out == b""
        assert b"a library in C" in errors
        assert b"a print" in errors


def test_a_notification_gets_no_line(place: Home) -> None:
    with child(place) as one:
        one.begin()
        one.send(INITIALIZED, {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 77}})
        assert one.ask({"jsonrpc": "2.0", "id": 5, "method": "ping"})["id"] == 5
        assert one.close()[0] == b""


def test_what_is_no_json_is_no_end(place: Home) -> None:
    with child(place) as one:
        one.begin()
        one.send(b"{not json", b"")
        one.send({"jsonrpc": "2.0", "id": 5, "method": "ping"})
        ids = [one.read().get("id")]
        if ids[0] is None:
            ids.append(one.read().get("id"))
        assert ids[-1] == 5


@pytest.mark.parametrize("given", [b"", json.dumps(INITIALIZE).encode() + b"\n"])
def test_it_ends_with_its_input(place: Home, given: bytes) -> None:
    one = Child(place)
    ended = subprocess.run(
        [*COMMAND, "--stdio"],
        env=place.environment(),
        cwd=place.path,
        input=given,
        capture_output=True,
        timeout=30,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.count(b"\n") == (1 if given else 0)
    one.begin()
    one.ask(call(1, "memory_stats"))  # from now on it is ready
    began = time.monotonic()
    one.close()
    assert one.process.returncode == 0
    assert time.monotonic() - began < 2  # the promise of the interface, not a measurement


def test_what_was_asked_before_the_end_is_answered(place: Home) -> None:
    with child(place) as one:
        one.send(
            INITIALIZE, INITIALIZED, *(call(number, "memory_store", content=f"Owl {number}.") for number in (1, 2))
        )
        out, _ = one.close()
    answers = [json.loads(line) for line in out.splitlines()]
    assert {answer["id"]: "result" in answer for answer in answers} == {0: True, 1: True, 2: True}


def test_half_a_character_is_replaced_and_answered(place: Home) -> None:
    with child(place) as one:
        one.begin()
        assert one.ask(call(1, "memory_store", content="half \ud83d an owl"))["result"]["structuredContent"]["uid"]
        found = one.ask(call(2, "memory_recall", query="owl"))["result"]["structuredContent"]["memories"]
        assert [memory["text"] for memory in found] == ["half \ufffd an owl"]


def test_the_folder_and_the_program_are_those_of_the_child(place: Home) -> None:
    repository = place.path / "shöp"
    (repository / ".git").mkdir(parents=True)
    (repository / ".git/HEAD").write_text("ref: refs/heads/main\n")
    (repository / ".git/config").write_text('[remote "origin"]\n\turl = git@example.org:acme/shop.git\n')
    with child(place, cwd=repository) as one:
        one.begin()
        uid = one.ask(call(1, "memory_store", content="The owl is awake."))["result"]["structuredContent"]["uid"]
        one.ask(call(2, "memory_store", content="The owl is asleep.", project="acme/blog"))
        (memory,) = one.ask(call(3, "memory_list", uid=uid))["result"]["structuredContent"]["memories"]
        assert memory["project"] == "acme/shop"
        listed = one.ask(call(4, "memory_list"))["result"]["structuredContent"]["memories"]
        assert [memory["project"] for memory in listed] == ["acme/shop"]
    with contextlib.closing(sqlite3.connect(place.database)) as raw:
        assert set(raw.execute("SELECT harness, actor FROM memories_memory")) == {("test-agent", "test-agent")}


def test_it_ends_by_a_signal(place: Home) -> None:
    with child(place) as one:
        one.begin()
        one.process.send_signal(signal.SIGTERM)
        assert one.process.wait(timeout=2) == 0


def test_it_ends_with_the_agent_that_was_killed(place: Home) -> None:
    """Another process holds the write end of its input open, so that there is no end of input."""
    read, write = os.pipe()
    code = (
        "import os, subprocess, sys, time\n"
        f"child = subprocess.Popen({[*COMMAND, '--stdio']!r}, stdin={read}, stdout=subprocess.DEVNULL)\n"
        "print(child.pid, flush=True)\ntime.sleep(60)\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", code], env=place.environment(), stdout=subprocess.PIPE, pass_fds=[read], text=True
    )
    assert parent.stdout
    pid = int(parent.stdout.readline())
    time.sleep(1)  # it has begun by now
    parent.kill()
    parent.communicate()
    until(lambda: not Path(f"/proc/{pid}").exists() or "Z (" in Path(f"/proc/{pid}/status").read_text(), 3)
    os.close(read)
    os.close(write)


def test_no_child_is_left(place: Home) -> None:
    with child(place) as one:
        one.begin()
        children = Path(f"/proc/{one.process.pid}/task/{one.process.pid}/children").read_text().split()
        assert children == []


def test_a_restart_of_the_service_is_survived(home: Home) -> None:
    first = home.start()
    _ = first.url
    with child(home) as one:
        one.begin()
        one.ask(call(1, "memory_store", content="The owl is awake."))
        first.end()
        second = home.start()
        # A start takes some seconds on a busy machine: then the first answer says that the service has stopped.
        result = until(lambda: one.ask(call(2, "memory_recall", query="owl")).get("result"))
        assert result["structuredContent"]["memories"][0]["text"] == "The owl is awake."
        assert second.process.poll() is None


def test_a_service_that_is_gone_is_said_in_one_sentence(home: Home) -> None:
    service = home.start()
    _ = service.url
    with child(home) as one:
        one.begin()
        service.end(signal.SIGKILL)
        error = one.ask(call(1, "memory_recall", query="owl"))["error"]
        assert error["message"] == "The memory service has stopped; the user can start it again with: memory-mcp"


def test_the_token_comes_from_the_environment_or_the_discovery_file(home: Home) -> None:
    _ = home.start(MEMORY_TOKEN="secret-of-the-owner").url
    for variables in ({}, {"MEMORY_TOKEN": "secret-of-the-owner"}, {"MEMORY_PLUGIN_TOKEN": "secret-of-the-owner"}):
        with child(home, **variables) as one:
            one.begin()
    with child(home, MEMORY_PLUGIN_TOKEN="wrong") as one:
        assert "MEMORY_TOKEN" in one.ask(INITIALIZE)["error"]["message"]


def test_several_children_and_the_service_lose_nothing(home: Home) -> None:
    """Two that began alone, two through the service, and the service itself write at once."""
    with contextlib.ExitStack() as stack:
        alone = [stack.enter_context(child(home)) for _ in range(2)]
        for one in alone:
            one.begin()
        service = home.start()
        _ = service.url
        through = [stack.enter_context(child(home)) for _ in range(2)]
        for one in through:
            one.begin()
        for number in range(20):
            for writer, one in enumerate([*alone, *through]):
                one.send(call(number + 1, "memory_store", content=f"Owl {number} of writer {writer}."))
            assert service.keep(f"Owl {number} of the service.") == 201
        for one in (*alone, *through):
            for _ in range(20):
                assert one.read()["result"]["structuredContent"]["status"] == "created"
    assert service.ask("GET", "/api/stats")[1]["memories"]["by_state"]["live"] == 100


def test_a_database_that_is_not_ours_is_one_line(home: Home) -> None:
    home.data.mkdir(parents=True)
    home.database.write_text("no database")
    with child(home) as one:
        one.begin()
        one.send(call(1, "memory_stats"))
        assert one.process.wait(30) == 1
        assert one.process.stdout.read() == b""
        said = one.process.stderr.read().decode()
    assert said.startswith("memory-mcp: ")
    assert said.count("\n") == 1


def test_alone_it_publishes_nothing(home: Home) -> None:
    with child(home) as one:
        one.begin()
        assert not home.discovery.exists()


def test_alone_it_greets_before_the_database_is_ready(home: Home) -> None:
    with child(home) as one:
        greeting = one.ask(INITIALIZE)["result"]
        assert not home.database.exists()
        one.send(INITIALIZED)
        tools = one.ask({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})["result"]["tools"]
        assert home.database.exists()
    _ = home.start().url
    with child(home) as one:
        assert one.ask(INITIALIZE)["result"] == greeting
        assert one.ask({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})["result"]["tools"] == tools
