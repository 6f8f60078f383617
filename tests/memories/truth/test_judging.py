"""What a model that judges changes in the store: at once, later, or not at all."""

import json
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("openai", reason="needs the openai package: pip install 'memsite[remote]'")
from memories import recall
from memories.models import Conflict, Memory, Reason
from memories.remember import Draft, remember
from memories.truth import conflicts, detection, judging
from tests.memories.embedders.openai_server import Answer
from tests.memories.truth.judged import BROKEN, NEW, OLD, SUBJECTS, YES, alike, is_live
from tests.memories.truth.judges.chats import completion, refusing, said, verdict
from tests.memories.truth.judges.chats import judging as judging_by
from tests.requirements import need
from tests.service import until

pytestmark = pytest.mark.django_db
EVAL = "MEMSITE_EVAL"
type Store = Callable[..., Memory]


def test_every_confirmed_pair_is_superseded_and_every_refused_one_is_left(
    judged_by: Callable[..., Any], remembered: Store
) -> None:
    confirmed = set(SUBJECTS[::2])
    judged_by(judging_by(lambda older, newer: any(f"{name} service" in older for name in confirmed)))
    stored = {
        name: (remembered(OLD.format(name), project=name), remembered(NEW.format(name), project=name))
        for name in SUBJECTS
    }
    for name, (older, newer) in stored.items():
        conflict = Conflict.objects.get(older=older, newer=newer)
        older.refresh_from_db()
        assert conflict.judge == "http:m"
        assert conflict.reason == "It says so."
        assert conflict.evidence
        if name in confirmed:
            assert conflict.verdict == "confirmed"
            assert (older.superseded_by, older.superseded_reason) == (newer, Reason.CONFLICT)
            assert older.valid_to == newer.valid_from
        else:
            assert conflict.verdict == "rejected"
            assert is_live(older)
            assert older.superseded_by is None
        assert is_live(newer)


def test_the_labelled_pairs(judged_by: Callable[..., Any], remembered: Store) -> None:
    folder = Path(os.environ.get(EVAL, ""))
    if not os.environ.get(EVAL):
        pytest.skip(f"needs the labelled set: export {EVAL}=FOLDER")
    need((folder / "conflicts.jsonl").exists(), f"{EVAL} has no conflicts.jsonl")

    def lines(name: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (folder / name).read_text(encoding="utf-8").splitlines()]

    rows = {row["id"]: row for row in lines("memories.jsonl")}
    labelled = {
        (rows[one["old"]]["content"], rows[one["new"]]["content"]) for one in lines("conflicts.jsonl") if "old" in one
    }
    judged_by(judging_by(lambda older, newer: (older, newer) in labelled))
    for row in sorted(rows.values(), key=lambda row: row["created_at"]):
        remembered(row["content"], project=row["project"], kind=row["kind"], valid_from=row["created_at"])
    pairs = list(Conflict.objects.select_related("older", "newer"))
    found = [pair for pair in pairs if (pair.older.content, pair.newer.content) in labelled]
    assert len(found) >= 0.7 * len(labelled)
    assert {pair.verdict for pair in found} == {"confirmed"}
    assert {pair.verdict for pair in pairs if pair not in found} <= {"rejected"}
    ended = {pair.older_id for pair in found if conflicts.is_whole(pair.older)}
    assert set(Memory.objects.exclude(valid_to=None).values_list("pk", flat=True)) == ended


@pytest.mark.parametrize(
    "answer",
    [
        said("confirmed"),
        said(verdict("confirmed")),
        said('{"verdict": true, "reason": 1}'),
        lambda _: (200, b"{}"),
        BROKEN,
        refusing(401, "no"),
    ],
    ids=["prose", "another word", "wrong types", "no completion", "500", "401"],
)
def test_a_judge_that_fails_leaves_the_pair_pending(
    judged_by: Callable[..., Any], pair: Callable[..., Conflict], answer: Any
) -> None:
    judged_by(answer)
    conflict = pair()
    assert (conflict.verdict, conflict.judge) == ("pending", "")
    assert is_live(conflict.older)
    assert judging.something_waits.is_set()


def test_a_write_does_not_wait_longer_than_its_budget(
    judged_by: Callable[..., Any], remembered: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = threading.Event()

    def hang(body: dict[str, Any]) -> Answer:
        gate.wait(30)
        return completion(verdict("contradiction"))

    judged_by(hang)
    for subject in ("billing", "billing and login", "billing and search"):
        remembered(OLD.format(subject))
    started = time.monotonic()
    newer = remembered(NEW.format("billing"))
    took = time.monotonic() - started
    assert Conflict.objects.filter(newer=newer).count() == detection.MOST_PAIRS > 1
    assert took < 10, "the server hangs for 30 s"
    gate.set()
    until(lambda: not any(thread.name == "judge" for thread in threading.enumerate()))
    assert set(Conflict.objects.values_list("verdict", flat=True)) == {"pending"}, "a late verdict changes nothing"


def test_a_verdict_can_be_undone(judged_by: Callable[..., Any], pair: Callable[..., Conflict]) -> None:
    judged_by(YES)
    conflict = pair()
    assert not is_live(conflict.older)
    conflicts.settle(conflict.pk, "rejected", actor="me")
    assert is_live(conflict.older)
    assert judging.judge_pending() == 0
    assert is_live(conflict.older), "the judge does not decide again what a person decided"


def test_a_long_memory_and_an_artifact_never_end_by_a_verdict(judged_by: Callable[..., Any], remembered: Store) -> None:
    judged_by(YES)
    long = remembered(OLD.format("billing") + " It is started by systemd and reads its settings from a file." * 20)
    captured = remembered(OLD.format("billing") + " Seen.", kind="artifact")
    at_once = remembered(NEW.format("billing"))
    assert set(Conflict.objects.filter(newer=at_once).values_list("older", "verdict")) == {
        (long.pk, "confirmed"),
        (captured.pk, "confirmed"),
    }
    later = remembered("The owl sleeps.")
    for older in (long, captured):
        alike(older, later)
    assert judging.judge_pending() == 2
    assert set(Conflict.objects.filter(newer=later).values_list("verdict", flat=True)) == {"confirmed"}
    assert is_live(long)
    assert is_live(captured)


def test_what_is_only_similar_is_shown_to_nobody_before_the_verdict(
    judged_by: Callable[..., Any], remembered: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged_by(BROKEN)
    older = remembered("The owl sleeps at noon.")
    monkeypatch.setattr(detection, "least_similarity", lambda: 0.0)
    monkeypatch.setattr(detection.evidence, "evidence", lambda *_, **__: None)
    answer = remember(Draft(content="The owl hunts at noon."))
    conflict = Conflict.objects.get(older=older)
    assert (conflict.verdict, conflict.evidence) == ("pending", "")
    assert answer.conflicts == ()
    assert conflicts.marks([older.pk]) == []
    assert list(conflicts.visible(state="pending")) == []
    assert recall.recall(recall.Question(query="owl noon", mode="search")).items
