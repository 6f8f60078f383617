"""hook.py as agent programs run it: a process of its own, with the real service and without one."""

import json
from collections.abc import Callable

import pytest

from memsite import hook
from tests.memsite.hooks import FACT, ORDER, PROMPT, Liar, publish, run, spooled
from tests.planted import SECRETS
from tests.service import Home, Service, until

pytestmark = pytest.mark.server


@pytest.fixture
def service(home: Home, settled: None) -> Service:
    service = home.start()
    assert service.url
    return service


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


def test_without_a_discovery_file_it_asks_at_the_port_of_the_environment(home: Home, service: Service) -> None:
    service.post("/ingest", content=FACT, kind="decision")
    home.discovery.unlink()
    assert FACT in run(home, "UserPromptSubmit", PROMPT, MEMORY_PORT=f" {service.port} ").block


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
