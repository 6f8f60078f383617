"""A local model as the judge: how it is asked. What it knows is not tested: its weights are random."""

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memories.truth import judges
from memories.truth.judges import Case, JudgeAway, JudgeFailed, llama
from memories.truth.judges.asking import comparison
from memories.truth.judges.llama import LlamaJudge
from tests.memories.embedders.conftest import model
from tests.service import until

CASE = Case("The cap is 1k.", "The cap is 2k.", "number")
PATIENCE = 60.0


@pytest.fixture(scope="module")
def path() -> Path:
    return model("tiny-qwen3.gguf")


@pytest.fixture
def judge(path: Path) -> LlamaJudge:
    return LlamaJudge(path)


def at_rest() -> bool:
    return not any(thread.name == "judge" for thread in threading.enumerate())


def test_the_grammar_leaves_even_a_random_model_nothing_but_the_object(
    judge: LlamaJudge, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(llama, "LONGEST_REASON", 5)
    answer = json.loads(judge.ask(comparison(CASE), patience=PATIENCE), strict=False)
    assert list(answer) == ["reason", "verdict"]
    assert answer["verdict"] in {"contradiction", "compatible"}
    ruling = judge.rule(CASE, patience=PATIENCE)
    assert ruling
    assert ruling.verdict in {"confirmed", "rejected"}
    assert ruling == judge.rule(CASE, patience=PATIENCE), "at temperature 0 the same is said again"
    assert capfd.readouterr().out == ""


def test_a_model_that_never_comes_to_an_end_gives_no_verdict(
    judge: LlamaJudge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(llama, "MOST_ANSWERED", 20)
    monkeypatch.setattr(llama, "LEAST_ANSWERED", 1)
    with pytest.raises(JudgeFailed):
        judge.rule(CASE, patience=PATIENCE)


def test_the_prompt_is_told_apart_by_the_template_of_the_model(judge: LlamaJudge) -> None:
    judge._load()
    prompt = llama._prompt(judge._model, comparison(CASE))
    assert prompt.startswith("<|im_start|>system\nYou compare two notes")
    assert prompt.endswith("<|im_end|>\n<|im_start|>assistant\n")
    judge._model.metadata["tokenizer.chat_template"] = (
        "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no system') }}{% endif %}"
        "[{{ m.role }}]{{ m.content }}{% endfor %}"
    )
    prompt = llama._prompt(judge._model, comparison(CASE))
    assert prompt.startswith("[user]You compare two notes")
    assert '<semantic-memory note="older">\nThe cap is 1k.\n</semantic-memory>' in prompt


def test_texts_that_do_not_fit_are_not_cut_but_left(judge: LlamaJudge) -> None:
    with pytest.raises(JudgeFailed, match="too long"):
        judge.rule(Case("The cap is 1k. " * 100, "The cap is 2k. " * 100, ""), patience=PATIENCE)


class Slow:
    """A model that computes until it is let go."""

    def __init__(self) -> None:
        self.started, self.go, self.calls = threading.Event(), threading.Event(), 0

    def __call__(self, *_: object) -> str:
        self.calls += 1
        self.started.set()
        assert self.go.wait(20)
        return '{"reason": "late", "verdict": "contradiction"}'


def test_a_late_result_is_dropped_and_nothing_piles_up(judge: LlamaJudge, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = Slow()
    judge._model = object()
    monkeypatch.setattr(judge, "_generate", slow)
    started = time.monotonic()
    with pytest.raises(JudgeFailed):
        judge.rule(CASE, patience=0.3)
    for patience in (0.3, 0.4, 0.5):
        with pytest.raises(JudgeAway):
            judge.rule(CASE, patience=patience)
    assert time.monotonic() - started < 10, "the model takes 20 s"
    assert slow.calls == 1
    slow.go.set()
    until(at_rest)
    monkeypatch.setattr(judge, "_generate", lambda *_: '{"reason": "", "verdict": "compatible"}')
    ruling = judge.rule(CASE, patience=PATIENCE)
    assert ruling
    assert ruling.verdict == "rejected"


def test_generation_ends_soon_after_whoever_asked_has_gone(judge: LlamaJudge, monkeypatch: pytest.MonkeyPatch) -> None:
    judge.ask(comparison(CASE), patience=PATIENCE)  # it is loaded
    judge._bounded._took = 0.0
    with pytest.raises(JudgeFailed):
        judge.ask(comparison(CASE), patience=0.05)
    until(at_rest, 5)


@pytest.mark.parametrize("content", [None, b"this is no model"])
def test_a_model_that_cannot_be_loaded_is_said_once(
    path: Path, tmp_path: Path, content: bytes | None, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "broken.gguf"
    if content:
        file.write_bytes(content)
    judge = LlamaJudge(file)
    for _ in range(3):
        with pytest.raises(JudgeAway, match="cannot be loaded"):
            judge.rule(CASE, patience=PATIENCE)
    assert len(caplog.records) == 1


def test_a_missing_package_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(__import__("sys").modules, "llama_cpp", None)
    with pytest.raises(JudgeAway, match=r"memsite\[embed\]"):
        LlamaJudge(tmp_path / "m.gguf").rule(CASE, patience=PATIENCE)


def test_the_settings_make_it_without_loading_it(configure: Callable[..., None], tmp_path: Path) -> None:
    configure(judge="llama", judge_path=tmp_path / "small.gguf")
    judge: Any = judges.current()
    assert isinstance(judge, LlamaJudge)
    assert judge is judges.current()
    assert (judge.name, judge._model) == ("llama:small", None)
