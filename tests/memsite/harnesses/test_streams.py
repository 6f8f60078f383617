"""What each agent program sends, as recorded, and the answers that it accepts."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from memories.models import Memory
from telemetry.models import HarnessSession, Injection
from tests.memsite.api.conftest import Rest

FACT = "The deploy key rotates on Tuesdays."
QUESTION = "when does the deploy key rotate?"
TITLE = {"UserPromptSubmit": "prompt", "SessionStart": "start", "PostToolUse": "tool", "PreCompact": "compact"}


def claude_shaped(name: str, **more: Any) -> dict[str, Any]:
    base = {"session_id": "s1", "transcript_path": "/nowhere/t.jsonl", "cwd": "/work/acme/shop", **more}
    return {
        "prompt": {**base, "hook_event_name": name, "prompt": QUESTION, "permission_mode": "default"},
        "start": {**base, "hook_event_name": "SessionStart", "source": "startup"},
        "tool": {
            **base,
            "hook_event_name": "PostToolUse",
            "tool_name": "Bash",
            "tool_input": {"command": "make deploy"},
            "tool_response": {"stdout": "deployed to srv1", "stderr": "", "interrupted": False},
            "tool_use_id": "t1",
        },
        "compact": {**base, "hook_event_name": "PreCompact", "trigger": "auto", "custom_instructions": ""},
    }


def changed(events: dict[str, Any], **names: dict[str, Any]) -> dict[str, Any]:
    return {name: {**event, **names.get(name, {})} for name, event in events.items()}


CAMEL = {"sessionId": "s1", "timestamp": 1, "cwd": "/work/acme/shop"}
CURSOR = {"conversation_id": "s1", "generation_id": "g", "workspace_roots": ["/work/acme/shop"], "model": "m"}
STREAMS: dict[str, dict[str, Any]] = {
    "claude": claude_shaped("UserPromptSubmit", prompt_id="p1"),
    "codex": changed(
        claude_shaped("UserPromptSubmit", turn_id="t1", model="gpt", permission_mode="bypassPermissions"),
        tool={"tool_response": "deployed to srv1"},
    ),
    "gemini": changed(
        claude_shaped("BeforeAgent", timestamp="2026-11-01T00:00:00Z"),
        tool={
            "hook_event_name": "AfterTool",
            "tool_name": "run_shell_command",
            "tool_response": {"llmContent": [{"text": "deployed to srv1"}], "returnDisplay": "deployed to srv1"},
        },
        compact={"hook_event_name": "PreCompress", "trigger": "manual"},
    ),
    "qwen": changed(
        claude_shaped("UserPromptSubmit", timestamp="2026-11-01T00:00:00Z"),
        tool={"tool_name": "run_shell_command", "tool_response": {"llmContent": "deployed to srv1"}},
    ),
    "kimi": {
        "prompt": {
            "hook_event_name": "UserPromptSubmit",
            "session_id": "s1",
            "cwd": "/work/acme/shop",
            "client_type": "cli",
            "prompt": [{"type": "text", "text": QUESTION}],
        },
        "start": {"hook_event_name": "SessionStart", "session_id": "s1", "cwd": "/work/acme/shop", "source": "startup"},
        "tool": {
            "hook_event_name": "PostToolUse",
            "session_id": "s1",
            "cwd": "/work/acme/shop",
            "tool_name": "Bash",
            "tool_input": {"command": "make deploy"},
            "tool_output": "deployed to srv1",
        },
        "compact": {"hook_event_name": "PreCompact", "session_id": "s1", "cwd": "/work/acme/shop"},
    },
    "copilot": {
        "prompt": {**CAMEL, "prompt": QUESTION},
        "start": {**CAMEL, "source": "new", "initialPrompt": QUESTION},
        "tool": {
            **CAMEL,
            "toolName": "bash",
            "toolArgs": json.dumps({"command": "make deploy"}),
            "toolResult": {"resultType": "success", "textResultForLlm": "deployed to srv1"},
        },
        "compact": {**CAMEL, "trigger": "auto"},
    },
    "cursor": {
        "prompt": {**CURSOR, "hook_event_name": "beforeSubmitPrompt", "prompt": QUESTION, "attachments": []},
        "start": {**CURSOR, "hook_event_name": "sessionStart"},
        "tool": {
            **CURSOR,
            "hook_event_name": "postToolUse",
            "tool_name": "Shell",
            "tool_input": {"command": "make deploy"},
            "tool_output": "deployed to srv1",
        },
        "compact": {**CURSOR, "hook_event_name": "preCompact", "trigger": "auto"},
    },
    "opencode": {
        "prompt": {
            "hook_event_name": "UserPromptSubmit",
            "session_id": "s1",
            "cwd": "/work/acme/shop",
            "prompt": '"when does the \\"deploy\\" key rotate?"',
        },
        "start": {"hook_event_name": "SessionStart", "session_id": "s1", "cwd": "/work/acme/shop", "source": "startup"},
        "tool": {
            "hook_event_name": "PostToolUse",
            "session_id": "s1",
            "cwd": "/work/acme/shop",
            "tool_name": "bash",
            "tool_response": {"content": [{"type": "text", "text": "deployed to srv1"}], "isError": False},
        },
        "compact": {
            "hook_event_name": "PreCompact",
            "session_id": "s1",
            "cwd": "/work/acme/shop",
            "messages": [
                {"role": "user", "text": "where does the cart live?"},
                {"role": "assistant", "text": "It lives in src/cart.py, beside the tests."},
                {"role": "tool", "text": "what a tool said at great length"},
            ],
        },
    },
}
NATIVE = {"gemini": "BeforeAgent"}


@pytest.fixture
def fire(rest: Rest) -> Callable[..., Any]:
    """Send an event of a stream the way hook.py does, and get the answer."""

    def send(name: str, event: str, *, canonical: bool = True, memory: Any = None, **more: Any) -> Any:
        body = {**STREAMS[name][event], **more, **({"memory": memory} if memory else {})}
        asked = next(long for long, short in TITLE.items() if short == event)
        answer = rest.post(f"/hook/{name}?event={asked}" if canonical else f"/hook/{name}", body)
        assert answer.status == 200, answer.body
        return answer.json

    return send


def told(name: str, answer: Any) -> str:
    """The block in an answer that the harness accepts: exactly these keys."""
    block: str
    if name in ("claude", "codex", "gemini", "qwen"):
        assert answer.keys() == {"hookSpecificOutput"}
        inner = answer["hookSpecificOutput"]
        assert inner.keys() == {"hookEventName", "additionalContext"}
        assert inner["hookEventName"] == NATIVE.get(name, "UserPromptSubmit")
        block = inner["additionalContext"]
    elif name == "opencode":
        assert answer.keys() == {"block", "uids", "chars", "fingerprint", "project"}
        block = answer["block"]
    else:
        [(key, block)] = answer.items()
        assert key == {"kimi": "message", "copilot": "additionalContext"}[name]
    return block


TELLING = [name for name in STREAMS if name != "cursor"]


@pytest.mark.parametrize("name", TELLING)
def test_a_prompt_gets_its_block_once_in_the_shape_that_the_harness_accepts(
    fire: Callable[..., Any], rest: Rest, name: str
) -> None:
    uid = rest.keep(FACT)
    answer = fire(name, "prompt")
    block = told(name, answer)
    assert FACT in block
    assert block.startswith("<semantic-memory>")
    if name == "opencode":
        assert not Injection.objects.exists()
        report = {**answer, "harness": name, "hook": "UserPromptSubmit", "session": "s1", "query": QUESTION}
        del report["block"]
        assert rest.post("/inject/report", report).json == {"accepted": 1}
    [injection] = Injection.objects.all()
    assert (injection.harness, injection.session, injection.hook) == (name, "s1", "UserPromptSubmit")
    assert (injection.project, injection.chars) == ("acme/shop", len(block))
    assert [one.memory_uid for one in injection.memories.all()] == [uid]
    assert fire(name, "prompt") == {}
    assert Injection.objects.count() == 1


@pytest.mark.parametrize("name", STREAMS)
def test_irrelevant_prompts_and_other_events_say_nothing(fire: Callable[..., Any], rest: Rest, name: str) -> None:
    rest.keep(FACT)
    silent = {"continue": True} if name == "cursor" else {}
    prompt = [{"type": "text", "text": "write a limerick"}] if name == "kimi" else "write a limerick"
    assert fire(name, "prompt", prompt=prompt) == silent
    assert fire(name, "prompt", prompt="") == silent
    assert [fire(name, event) for event in ("start", "tool", "compact")] == [{}, {}, {}]
    assert Memory.objects.filter(source="tool").count() == 0


@pytest.mark.parametrize("name", STREAMS)
def test_an_order_to_remember_is_kept_and_not_told_back(fire: Callable[..., Any], name: str) -> None:
    text = "Please remember that the staging database is called blueberry."
    prompt = [{"type": "text", "text": text}] if name == "kimi" else text
    assert fire(name, "prompt", prompt=prompt) in ({}, {"continue": True})
    memory = Memory.objects.get()
    assert memory.content == "the staging database is called blueberry."
    assert (memory.source, memory.kind, memory.harness, memory.session) == ("chat", "fact", name, "s1")
    assert memory.project == "acme/shop"


@pytest.mark.parametrize("name", STREAMS)
def test_chosen_tool_output_is_kept(fire: Callable[..., Any], name: str) -> None:
    assert fire(name, "tool", memory={"tool_capture": ["bash"]}) == {}
    memory = Memory.objects.get()
    assert (memory.source, memory.kind, memory.project) == ("tool", "artifact", "acme/shop")
    assert "deployed to srv1" in memory.content
    assert name == "opencode" or "(make deploy)" in memory.content


@pytest.mark.parametrize("name", STREAMS)
def test_each_harness_knows_its_own_names_of_events(fire: Callable[..., Any], rest: Rest, name: str) -> None:
    if name == "copilot":
        body = STREAMS[name]["tool"] | {"memory": {"tool_capture": "bash"}}
        assert rest.post(f"/hook/{name}?event=postToolUse", body).json == {}
    else:
        fire(name, "tool", canonical=False, memory={"tool_capture": "bash"})
    assert Memory.objects.get().source == "tool"


@pytest.mark.parametrize("name", ["claude", "codex", "gemini", "qwen", "kimi", "copilot", "opencode"])
def test_a_compaction_makes_room_for_what_was_injected_before(fire: Callable[..., Any], rest: Rest, name: str) -> None:
    rest.keep(FACT)
    first = told(name, fire(name, "prompt"))
    if name == "opencode":
        uids = [Memory.objects.get().uid]
        rest.post("/inject/report", {"harness": name, "session": "s1", "uids": uids})
    assert fire(name, "prompt") == {}
    fire(name, "compact")
    assert told(name, fire(name, "prompt")) == first


def test_gemini_says_it_compresses_with_every_turn_and_is_not_believed(fire: Callable[..., Any], rest: Rest) -> None:
    rest.keep(FACT)
    fire("gemini", "prompt")
    line = json.dumps({"id": "1", "type": "user", "content": "where does the cart live?"}) + "\n"
    fire("gemini", "compact", trigger="auto", memory={"transcript": {"start": 0, "text": line}})
    assert fire("gemini", "prompt") == {}
    assert Memory.objects.count() == 1


@pytest.mark.parametrize(
    ("source", "afresh"), [("startup", True), ("clear", True), ("compact", True), ("new", True), ("resume", False)]
)
def test_every_start_but_a_resumed_one_begins_with_an_empty_context(
    fire: Callable[..., Any], rest: Rest, source: str, afresh: bool
) -> None:
    rest.keep(FACT)
    fire("kimi", "prompt")
    assert fire("kimi", "start", source=source) == {}
    assert bool(fire("kimi", "prompt")) is afresh


@pytest.mark.parametrize("name", ["claude", "codex"])
def test_after_a_compaction_the_last_prompts_block_is_told_again(
    fire: Callable[..., Any], rest: Rest, name: str
) -> None:
    rest.keep(FACT)
    block = told(name, fire(name, "prompt"))
    answer = fire(name, "start", source="compact")
    assert answer == {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": block}}
    assert list(Injection.objects.values_list("hook", flat=True)) == ["SessionStart", "UserPromptSubmit"]
    assert fire(name, "prompt") == {}
    assert HarnessSession.objects.get().prompts == 2
    for other in ("startup", "clear", "resume"):
        assert fire(name, "start", source=other) == {}


def test_what_gemini_puts_before_a_prompt_is_no_part_of_it(fire: Callable[..., Any], rest: Rest) -> None:
    rest.keep(FACT)
    context = "<hook_context>&lt;semantic-memory&gt; remember that x is y &lt;/semantic-memory&gt;</hook_context>"
    told("gemini", fire("gemini", "prompt", prompt=f"{context}\n\n{QUESTION}"))
    assert Injection.objects.get().query == QUESTION
    assert fire("gemini", "prompt", prompt=context) == {}
    assert Memory.objects.count() == 1


def test_qwen_goes_on_after_a_tool_without_the_block_once_more(fire: Callable[..., Any], rest: Rest) -> None:
    rest.keep(FACT)
    assert told("qwen", fire("qwen", "prompt"))
    assert [fire("qwen", "prompt", prompt=prompt) for prompt in (QUESTION, "", QUESTION)] == [{}, {}, {}]
    assert HarnessSession.objects.get().prompts == 3
