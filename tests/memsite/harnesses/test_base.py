"""Prompts and outputs in whatever shape they come."""

import pytest

from memsite.harnesses.base import LONGEST_CALL, Harness, call_of, text_of, typed, unquoted


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("plain", "plain"),
        (None, ""),
        (3, ""),
        (["a", {"type": "text", "text": "b"}, {"type": "image", "data": "", "text": ""}], "a\nb"),
        ({"stdout": "out", "stderr": "err", "interrupted": False}, "out\nerr"),
        ({"content": [{"type": "text", "text": "a"}], "isError": False}, "a"),
        ({"llmContent": [{"text": "a"}], "returnDisplay": "b"}, "a"),
        ({"type": "text", "file": {"filePath": "x.py", "content": "a"}}, "a"),
        ({"resultType": "success", "textResultForLlm": "a"}, "a"),
        ({"rows": 3}, '{"rows": 3}'),
    ],
)
def test_the_text_of_an_output_is_found(value: object, text: str) -> None:
    assert text_of(value) == text


def test_endless_nesting_ends() -> None:
    value: object = "deep"
    for _ in range(10_000):
        value = [value]
    assert text_of(value) == ""


@pytest.mark.parametrize(
    ("value", "call"),
    [
        ({"command": "make\n  deploy", "description": "x"}, "make deploy"),
        ({"command": ["bash", "-lc", "make"]}, "bash -lc make"),
        ('{"command": "make"}', "make"),
        ("{broken", "{broken"),
        ({"file_path": "/a/b.py", "content": "long"}, "/a/b.py"),
        ({"other": 1}, ""),
        (None, ""),
        ({"command": "x" * 1000}, "x" * LONGEST_CALL),
    ],
)
def test_a_call_is_told_in_one_line(value: object, call: str) -> None:
    assert call_of(value) == call


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ('"when does it rotate?"', "when does it rotate?"),
        ('"say \\"hi\\" to Bob"', 'say "hi" to Bob'),
        ('"a" or "b"', '"a" or "b"'),
        ('"', '"'),
        ("plain", "plain"),
    ],
)
def test_a_prompt_in_quotes_is_read_as_it_was_typed(given: str, text: str) -> None:
    assert unquoted(given) == text


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ("<system-reminder>x <b> y</system-reminder>fix it", "fix it"),
        ("&lt;hook_context&gt;x&lt;/hook_context&gt; fix it", " fix it"),
        ('<hook_result hook_event="UserPromptSubmit">x</hook_result>a<hook_context>y</hook_context>b', "ab"),
        ("<command-name>/x</command-name>\n<command-args></command-args>", "\n"),
        ("what does <system-reminder> mean?", "what does <system-reminder> mean?"),
        ("</system-reminder> alone", "</system-reminder> alone"),
        ("a < b and <div>c</div>", "a < b and <div>c</div>"),
    ],
)
def test_what_the_harness_wrote_beside_it_is_no_part_of_a_prompt(given: str, text: str) -> None:
    assert typed(given) == text


@pytest.mark.parametrize(
    "piece", ["<system-reminder>", "&lt;hook_context ", "<", "</hook_context>", "<hook_context>&gt;"]
)
def test_hostile_prompts_are_read_in_no_time(piece: str) -> None:
    typed(piece * 100_000)


def test_a_session_of_a_very_long_name_is_known_by_its_digest() -> None:
    long = Harness().session({"session_id": "s" * 10_000})
    assert len(long) == 64
    assert long != Harness().session({"session_id": "s" * 9_999})
    assert Harness().session({"session_id": "s" * 200}) == "s" * 200
