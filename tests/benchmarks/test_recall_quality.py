import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import recall_quality
from baseline import Baseline
from datasets import Note, Question, load_locomo
from recall_measure import Asked, Ingested, Run
from recall_quality import numbers, run_lines
from recall_report import silence_figures, stale_figures
from tables import table


def note(identifier: str) -> Note:
    return Note(identifier, "shop", {"content": identifier, "project": "shop"})


def answer(uid: str | None, status: str = "created") -> dict[str, Any]:
    return {"uid": uid, "status": status, "vector": "off"}


@pytest.fixture
def ingested() -> Ingested:
    found = Ingested()
    found.add(note("a"), answer("1"))
    found.add(note("b"), answer("1", "refreshed"))
    found.add(note("c"), answer("2"))
    found.add(note("d"), answer(None, "skipped"))
    return found


def asked(question: Question, **ranked: list[str]) -> Asked:
    return Asked(question, **{"gold": [], "search": [], "inject": [], "plain": [], **ranked})


def test_absent_data_is_skipped_with_a_reason(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert recall_quality.main(["--data", str(tmp_path / "nowhere")]) == 0
    assert capsys.readouterr().out.startswith("skipped: ")


def test_a_folder_without_either_set_is_skipped(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert recall_quality.main(["--data", str(tmp_path)]) == 0
    assert capsys.readouterr().out.count("skipped: ") == 2


def test_notes_that_became_one_memory_count_once(ingested: Ingested) -> None:
    assert ingested.keys(["a", "b", "c"]) == ["1", "2"]


def test_a_skipped_note_can_not_be_found(ingested: Ingested) -> None:
    assert ingested.key("d") not in {"1", "2"}
    assert ingested.counts["status skipped"] == 1


def test_lines_for_score_py_name_every_note_of_a_memory(ingested: Ingested) -> None:
    query = Question("q", "shop", "?", ("a",), "identifier")
    noise = Question("o", "shop", "?", (), "offtopic")
    found = [asked(query, gold=["1"], search=["2", "1"]), asked(noise, search=["1"], inject=["2"])]
    lines = [json.loads(line) for line in run_lines(Run(ingested, found, {}, {}, {}), lambda one: one.search)]
    assert lines == [{"id": "q", "ranked": ["c", "a", "b"]}, {"id": "o", "ranked": ["c"]}]


def test_off_topic_prompts_are_disturbed_by_any_injection() -> None:
    noise = Question("o", "shop", "?", (), "offtopic")
    figures = silence_figures([asked(noise), asked(noise, inject=["1", "2"])], lambda one: one.inject)
    assert (figures["injected_any"], figures["mean_injected"]) == (0.5, 1)


def test_a_stale_memory_counts_above_a_successor_that_is_not_found(ingested: Ingested) -> None:
    query = Question("q", "shop", "?", ("c",), "current_truth")
    found = [asked(query, gold=["2"], search=["1"], plain=["2", "1"])]
    stale = stale_figures(found, ingested, {"c": "a"})
    assert (stale["service, search"], stale["FTS5, search"], stale["service, inject"]) == (1, 0, 0)


def test_numbers_are_read_as_ranges() -> None:
    assert numbers("1-3,7") == {1, 2, 3, 7}


def test_questions_without_evidence_that_exists_are_left_out(tmp_path: Path) -> None:
    turns = [{"speaker": "Ann", "text": "Look!", "blip_caption": "a boat", "dia_id": "D1:1"}]
    qa = [
        {"question": "What?", "category": 4, "evidence": ["D1:1; D7:7"]},
        {"question": "Who?", "category": 1, "evidence": ["D9:9"]},
    ]
    conversation = {"session_1_date_time": "8 May", "session_1": turns, "session_2_date_time": "9 May"}
    path = tmp_path / "locomo10.json"
    path.write_text(json.dumps([{"qa": qa, "conversation": conversation}]))
    (loaded,) = load_locomo(path, {1})
    assert [question.gold for question in loaded.questions] == [("locomo-1:D1:1",)]
    assert loaded.notes[0].content == "Ann: Look! [shares a boat] (8 May)"


@pytest.fixture
def plain() -> Iterator[Baseline]:
    baseline = Baseline()
    baseline.add("a", "shop", "We deploy on Fridays")
    baseline.add("b", "docs", "Never deploy on a Friday")
    yield baseline
    baseline.close()


def test_plain_search_stays_in_its_project(plain: Baseline) -> None:
    assert plain.search("deploying", "shop", 5) == ["a"]
    assert set(plain.search("deploying", "*", 5)) == {"a", "b"}


def test_plain_search_finds_nothing_for_stop_words_and_takes_syntax_as_text(plain: Baseline) -> None:
    assert plain.search("what is this", "shop", 5) == []
    assert plain.search('deploy" NEAR( OR *', "shop", 5) == ["a"]


def test_tables_are_markdown() -> None:
    assert table(["a", ""], [["x", "1"]]) == "| a   |     |\n| --- | --: |\n| x   |   1 |"
