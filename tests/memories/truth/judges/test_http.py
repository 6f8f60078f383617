"""A judge behind a server: what it is asked, and what of its answers counts."""

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("openai", reason="needs the openai package: pip install 'memsite[remote]'")
from memories.truth.judges import JudgeAway, JudgeFailed, http
from memories.truth.judges.http import HttpJudge
from tests.memories.embedders.openai_server import Answer, Server
from tests.memories.truth.judges.chats import CASE, closed, completion, judging, notes, refusing, said, verdict

FOREIGN = "not-for-this-server"


def form(body: dict[str, Any]) -> str:
    return str(body.get("response_format", {}).get("type", ""))


@pytest.mark.parametrize(("word", "expected"), [("contradiction", "confirmed"), ("compatible", "rejected")])
def test_a_verdict_is_taken_with_its_reason(judge: HttpJudge, server: Server, word: str, expected: str) -> None:
    server.then = [said(verdict(word, "Because."))]
    ruling = judge.rule(CASE, patience=5)
    assert ruling
    assert (ruling.verdict, ruling.reason) == (expected, "Because.")


def test_the_request_is_one_that_openai_takes(judge: HttpJudge, server: Server) -> None:
    server.then = [said(verdict("compatible"))]
    judge.rule(CASE, patience=5)
    (body,) = server.asked
    assert notes(body) == {"older": CASE.older, "newer": CASE.newer}
    assert body["temperature"] == 0
    wanted = body["response_format"]["json_schema"]
    assert wanted["strict"] is True
    assert wanted["schema"]["required"] == list(wanted["schema"]["properties"]) == ["reason", "verdict"]
    assert wanted["schema"]["additionalProperties"] is False
    assert server.paths == ["/v1/chat/completions"]


def test_only_its_own_key_is_sent(judge: HttpJudge, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(name, FOREIGN)
    server.then = [said(verdict("compatible"))]
    keyless = HttpJudge(server.url, model="m")
    for one in (judge, keyless):
        one.rule(CASE, patience=5)
    closed(keyless)
    assert server.headers[0]["authorization"] == "Bearer its-own"
    assert FOREIGN not in json.dumps(server.headers)


@pytest.mark.parametrize(
    "body",
    [b"", b"<html>Bad gateway</html>", b"[]", b"{}", b'{"choices": []}', b'{"choices": {}}', b'{"choices": [null]}'],
)
def test_what_is_no_completion_confirms_nothing(judge: HttpJudge, server: Server, body: bytes) -> None:
    server.then = [lambda _: (200, body)]
    with pytest.raises(JudgeFailed):
        judge.rule(CASE, patience=5)


def test_an_endless_answer_is_not_read_to_its_end(judge: HttpJudge, server: Server) -> None:
    server.then = [said("x" * (http.MOST_BYTES + 1))]
    with pytest.raises(JudgeFailed, match="too long"):
        judge.rule(CASE, patience=5)


@pytest.mark.parametrize("status", [400, 422, 500])
def test_a_server_that_refuses_a_form_gets_a_simpler_one_from_then_on(
    judge: HttpJudge, server: Server, status: int
) -> None:
    def only_text(body: dict[str, Any]) -> Answer:
        if form(body):
            return refusing(status, f"response_format {form(body)} is unknown")(body)
        return completion(verdict("contradiction"))

    server.then = [only_text]
    judge.rule(CASE, patience=5)
    judge.rule(CASE, patience=5)
    assert [form(body) for body in server.asked] == ["json_schema", "json_object", "", ""]


def test_a_model_without_a_temperature_or_with_another_limit_is_asked_as_it_wants(
    judge: HttpJudge, server: Server
) -> None:
    server.then = [
        refusing(400, "Unsupported value: 'temperature' does not support 0 with this model."),
        refusing(400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."),
        said(verdict("contradiction")),
    ]
    assert judge.rule(CASE, patience=5)
    last = server.asked[-1]
    assert "temperature" not in last
    assert "max_tokens" not in last
    assert last["max_completion_tokens"] == http.MOST_TOKENS
    assert form(last) == "json_schema"


def test_a_text_that_is_refused_changes_nothing_for_the_next(judge: HttpJudge, server: Server) -> None:
    refused = refusing(400, "too many tokens")
    server.then = [refused, refused, refused, said(verdict("compatible"))]
    with pytest.raises(JudgeFailed) as failed:
        judge.rule(CASE, patience=5)
    assert not isinstance(failed.value, JudgeAway)
    assert judge.rule(CASE, patience=5)
    assert form(server.asked[-1]) == "json_schema"


@pytest.mark.parametrize("status", [400, 422, 503])
def test_the_servers_words_are_not_logged_as_they_may_quote_a_memory(
    judge: HttpJudge, server: Server, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    server.then = [refusing(status, f"invalid input: {CASE.older}")]
    with pytest.raises(JudgeFailed) as failed:
        judge.rule(CASE, patience=5)
    assert f"status {status}" in caplog.text
    assert CASE.older not in caplog.text + str(failed.value)


@pytest.mark.parametrize("status", [401, 403, 404, 429, 500, 503])
def test_after_a_failure_the_server_is_left_alone_for_a_while(
    judge: HttpJudge, server: Server, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.then = [refusing(status, "no"), said(verdict("compatible"))]
    for _ in range(3):
        with pytest.raises(JudgeAway):
            judge.rule(CASE, patience=5)
    assert len(server.asked) == 1, "nothing is tried twice"
    now = time.monotonic() + http.QUIET_SECONDS
    monkeypatch.setattr(http.time, "monotonic", lambda: now)
    assert judge.rule(CASE, patience=500)


def test_the_quiet_time_grows_up_to_a_limit(judge: HttpJudge) -> None:
    waits = []
    for _ in range(12):
        judge._failed(OSError(), time.monotonic() + 5)
        waits.append(round(judge._quiet_until - time.monotonic()))
    assert waits[:3] == [30, 60, 120]
    assert max(waits) == http.LONGEST_QUIET_SECONDS


def test_nobody_listens() -> None:
    judge = HttpJudge("http://127.0.0.1:9/v1", model="m")
    with pytest.raises(JudgeAway):
        judge.rule(CASE, patience=5)
    closed(judge)


def test_no_more_is_asked_in_an_hour_than_the_budget(
    judge: HttpJudge, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge._budget = http.Budget(2)
    server.then = [said("garbage"), said(verdict("compatible"))]
    with pytest.raises(JudgeFailed):
        judge.rule(CASE, patience=5)
    judge.rule(CASE, patience=5)
    with pytest.raises(JudgeAway, match="budget"):
        judge.rule(CASE, patience=5)
    assert len(server.asked) == 2
    now = time.monotonic() + http.HOUR_SECONDS
    monkeypatch.setattr(http.time, "monotonic", lambda: now)
    assert judge.rule(CASE, patience=now)


def test_a_missing_package_is_said(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(JudgeAway, match=r"memsite\[remote\]"):
        HttpJudge(server.url, model="m").rule(CASE, patience=1)


def test_the_settings_make_it_once(judged_by: Callable[..., Any], server: Server) -> None:
    judge = judged_by(judging(lambda older, newer: True))
    assert isinstance(judge, HttpJudge)
    assert judge.name == "http:m"
    assert judged_by() is not judge
