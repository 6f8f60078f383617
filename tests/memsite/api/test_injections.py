from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest

from memories.models import Memory
from telemetry.models import HarnessSession, Injection
from tests.memsite.api.conftest import Rest

SESSION = {"harness": "codex", "session": "s1"}
UNKNOWN = "0" * 32


def prompt(rest: Rest, query: str = "deploy", **fields: Any) -> Any:
    return rest.injected(query, **{**SESSION, **fields})


def report(rest: Rest, answer: Any, **fields: Any) -> int:
    uids = [hit["uid"] for hit in answer["memories"]]
    body = {"uids": uids, "chars": answer["chars"], "fingerprint": answer["fingerprint"], **SESSION, **fields}
    reported = rest.post("/inject/report", body)
    assert reported.status == 202, reported.body
    return int(reported.json["accepted"])


def count(uid: str) -> int:
    return Memory.objects.get(uid=uid).injection_count


def test_a_report_is_kept_as_it_came(rest: Rest, freeze: Callable[[str], datetime]) -> None:
    now = freeze("2026-03-01T00:00:00+00:00")
    uid = rest.keep("Deploy with Ansible.")
    body = {"uids": [uid], "query": "how to deploy", "hook": "UserPromptSubmit", "project": "acme/shop", "chars": 7}
    assert rest.post("/inject/report", {**body, **SESSION, "fingerprint": "f" * 64}).json == {"accepted": 1}
    [item] = rest.get("/api/injections").json["items"]
    assert item == {
        **body,
        **SESSION,
        "fingerprint": "f" * 64,
        "scope": "default",
        "at": "2026-03-01T00:00:00Z",
    }
    memory = Memory.objects.get()
    assert (memory.injection_count, memory.last_injected_at) == (1, now)


def test_a_memory_counts_once_a_session(rest: Rest) -> None:
    uid = rest.keep("Deploy with Ansible.")
    for session in ("s1", "s1", "s2", "s1"):
        rest.post("/inject/report", {"uids": [uid, uid], "harness": "codex", "session": session})
    assert count(uid) == 2
    rest.post("/inject/report", {"uids": [uid], "harness": "claude", "session": "s1"})
    assert count(uid) == 3
    assert Injection.objects.count() == 5


def test_a_recall_alone_counts_nothing(rest: Rest) -> None:
    uid = rest.keep("Deploy with Ansible.")
    for _ in range(3):
        prompt(rest)
    assert count(uid) == 0
    assert not Injection.objects.exists()


def test_unknown_foreign_and_forgotten_uids_are_ignored(rest: Rest) -> None:
    uid = rest.keep("Deploy with Ansible.")
    foreign = rest.keep("Deploy by hand.", scope="team")
    gone = rest.keep("Deploy on Monday.")
    rest.delete(f"/api/memories/{gone}")
    uids = [UNKNOWN, "x", "\ud800", "é", "", foreign, gone, uid]
    assert rest.post("/inject/report", {"uids": uids}).json == {"accepted": 1}
    assert (count(uid), count(foreign)) == (1, 0)
    for nothing in ([], [UNKNOWN], [foreign]):
        answer = rest.post("/inject/report", {"uids": nothing})
        assert (answer.status, answer.json) == (202, {"accepted": 0})
    assert Injection.objects.count() == 1


def test_a_boost_never_lets_the_popular_win_over_the_clearly_better(rest: Rest) -> None:
    popular = rest.keep("The shop has a deploy script.")
    for number in range(60):
        rest.post("/inject/report", {"uids": [popular], "session": f"s{number}"})
    Memory.objects.filter(uid=popular).update(injection_count=1000)
    better = rest.keep("The deploy key of the blog rotates monthly.")
    assert rest.found("when does the blog deploy key rotate")[0] == better


def test_what_is_in_context_is_not_injected_again(rest: Rest) -> None:
    uid = rest.keep("Deploy with Ansible.")
    first = prompt(rest)
    assert [hit["uid"] for hit in first["memories"]] == [uid]
    report(rest, first)
    again = prompt(rest)
    assert (again["unchanged"], again["block"], again["memories"]) == (True, "", [])
    assert again["fingerprint"] == first["fingerprint"]
    assert again["withheld"]["in_context"] == 1


def test_only_what_is_new_is_injected_beside_what_is_in_context(rest: Rest) -> None:
    rest.keep("Deploy with Ansible.")
    report(rest, prompt(rest))
    new = rest.keep("Deploy on Monday.")
    answer = prompt(rest)
    assert [hit["uid"] for hit in answer["memories"]] == [new]
    assert (answer["unchanged"], answer["withheld"]["in_context"]) == (False, 1)


def test_what_was_recalled_but_not_reported_is_not_in_context(rest: Rest) -> None:
    rest.keep("Deploy with Ansible.")
    assert prompt(rest)["memories"]
    assert prompt(rest)["memories"]


def test_nothing_relevant_is_not_unchanged(rest: Rest) -> None:
    rest.keep("Deploy with Ansible.")
    report(rest, prompt(rest))
    answer = prompt(rest, "write a limerick on penguins")
    assert (answer["unchanged"], answer["fingerprint"], answer["block"]) == (False, "", "")


@pytest.mark.parametrize(
    "other", [{"session": "s2"}, {"harness": "claude"}, {"session": None}, {"mode": "search"}], ids=str
)
def test_another_session_has_another_context(rest: Rest, other: dict[str, Any]) -> None:
    rest.keep("Deploy with Ansible.")
    report(rest, prompt(rest))
    assert prompt(rest, **other)["memories"]


def test_the_sessions_of_two_scopes_are_apart(rest: Rest) -> None:
    rest.keep("Deploy with Ansible.")
    rest.keep("Deploy with Ansible.", scope="team")
    report(rest, prompt(rest))
    assert prompt(rest, scope="team")["memories"]
    assert HarnessSession.objects.count() == 2


def test_a_reset_starts_the_context_afresh(rest: Rest) -> None:
    uid = rest.keep("Deploy with Ansible.")
    report(rest, prompt(rest))
    assert prompt(rest)["unchanged"]
    afresh = prompt(rest, reset=True)
    assert afresh["memories"]
    assert prompt(rest)["memories"], "what was in context before the reset is gone for good"
    report(rest, afresh)
    assert prompt(rest)["unchanged"]
    assert count(uid) == 1


def test_twenty_prompts_later_it_may_be_injected_again(rest: Rest) -> None:
    rest.keep("Deploy with Ansible.")
    report(rest, prompt(rest))
    for _ in range(19):
        assert prompt(rest)["unchanged"]
    answer = prompt(rest)
    assert answer["memories"]
    report(rest, answer)
    assert prompt(rest)["unchanged"]


def test_a_search_is_no_prompt(rest: Rest, configure: Callable[..., None]) -> None:
    configure(reinject_after=2)
    rest.keep("Deploy with Ansible.")
    report(rest, prompt(rest))
    for _ in range(5):
        prompt(rest, mode="search")
    assert HarnessSession.objects.get().prompts == 1
    assert prompt(rest)["unchanged"]
    assert prompt(rest)["memories"]


def test_zero_prompts_means_never_again(rest: Rest, configure: Callable[..., None]) -> None:
    configure(reinject_after=0)
    rest.keep("Deploy with Ansible.")
    report(rest, prompt(rest))
    for _ in range(30):
        assert prompt(rest)["unchanged"]


def test_a_session_that_only_reports_has_a_context_too(rest: Rest) -> None:
    uid = rest.keep("Deploy with Ansible.")
    rest.post("/inject/report", {"uids": [uid], **SESSION})
    assert prompt(rest)["unchanged"]


def test_a_name_is_the_same_session_however_it_is_written(rest: Rest) -> None:
    rest.keep("Deploy with Ansible.")
    report(rest, prompt(rest), session=" s1\0")
    assert prompt(rest)["unchanged"]
    assert HarnessSession.objects.get().session == "s1"
    prompt(rest, session="\0")
    assert HarnessSession.objects.count() == 1


def test_no_secret_reaches_the_record_of_an_injection(rest: Rest) -> None:
    key = "AKIA" + "ABCDEFGHIJKLMNOP"
    uid = rest.keep("Deploy with Ansible.")
    names = ("query", "harness", "hook", "session", "project")
    rest.post("/inject/report", {"uids": [uid], **dict.fromkeys(names, f"with {key} in it")})
    prompt(rest, session=f"session {key}")
    for row in (Injection.objects.get(), *HarnessSession.objects.all()):
        assert key not in str(vars(row))
    assert "[redacted:aws-access-key]" in Injection.objects.get().query


@pytest.mark.parametrize(
    "fields",
    [
        {"uids": None},
        {"uids": "x"},
        {"uids": [1]},
        {"uids": [UNKNOWN] * 501},
        {"chars": -1},
        {"chars": 10**12},
        {"chars": "many"},
        {"fingerprint": "f" * 65},
        {"session": "s" * 201},
        {"harness": "h" * 201},
        {"hook": "h" * 201},
        {"project": "p" * 201},
        {"scope": "s" * 201},
    ],
    ids=lambda fields: f"{fields}"[:30],
)
def test_a_report_that_cannot_be_meant_is_refused(rest: Rest, fields: dict[str, Any]) -> None:
    uid = rest.keep("Deploy with Ansible.")
    assert rest.post("/inject/report", {"uids": [uid], **fields}).code[0] == 422
    assert not Injection.objects.exists()
    assert count(uid) == 0


def test_injections_are_listed_newest_first_in_pages_and_by_filter(rest: Rest) -> None:
    uid = rest.keep("Deploy with Ansible.")
    for number in range(5):
        harness = "codex" if number % 2 else "claude"
        project = "acme/shop" if number < 3 else "acme/blog"
        rest.post("/inject/report", {"uids": [uid], "chars": number, "harness": harness, "project": project})

    def chars(query: str = "") -> list[int]:
        return [item["chars"] for item in rest.get(f"/api/injections?{query}").json["items"]]

    assert chars() == [4, 3, 2, 1, 0]
    assert chars("limit=2&offset=1") == [3, 2]
    assert chars("harness=codex") == [3, 1]
    assert chars("project=acme/blog") == [4, 3]
    assert chars("scope=team") == chars("harness=foo") == []
    assert chars("harness=&project=") == chars("project=*") == [4, 3, 2, 1, 0]
    assert chars("project=shop") == []
    page = rest.get("/api/injections?harness=codex&limit=1").json
    assert (page["total"], page["limit"], page["offset"]) == (2, 1, 0)
    for wrong in ("limit=0", "limit=501", "offset=-1", "limit=many"):
        assert rest.get(f"/api/injections?{wrong}").code[0] == 422


def test_the_record_stays_when_its_memory_is_purged_but_not_its_query(rest: Rest, transactional_db: None) -> None:
    from memsite.maintenance import purge

    uid = rest.keep("Deploy with Ansible.")
    rest.post("/inject/report", {"uids": [uid], "query": "deploy"})
    rest.delete(f"/api/memories/{uid}")
    purge(actor="test")
    [item] = rest.get("/api/injections").json["items"]
    assert (item["uids"], item["query"]) == ([uid], "")
