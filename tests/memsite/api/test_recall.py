import json
from collections.abc import Callable
from typing import Any

import pytest

from memories.models import AuditEntry, Memory
from telemetry.models import HarnessSession, Injection
from tests.memsite.api.conftest import Rest

OPENING = "<semantic-memory>\n"


def test_an_answer_has_the_block_and_what_is_in_it(rest: Rest) -> None:
    uid = rest.keep("We deploy with Ansible.", kind="decision", project="acme/shop", tags=["ops"])
    answer = rest.injected("how do we deploy?", project="acme/shop")
    assert answer["block"].startswith(OPENING)
    assert "We deploy with Ansible." in answer["block"]
    assert answer["chars"] == len(answer["block"])
    assert len(answer["fingerprint"]) == 64
    assert (answer["unchanged"], answer["degraded"]) == (False, None)
    assert answer["took_ms"] > 0
    [hit] = answer["memories"]
    assert {name: hit[name] for name in ("uid", "content", "kind", "project", "tags")} == {
        "uid": uid,
        "content": "We deploy with Ansible.",
        "kind": "decision",
        "project": "acme/shop",
        "tags": ["ops"],
    }
    assert hit["relevance"] >= 0.55
    assert hit["why"]["words"]["rank"] == 1


def test_nothing_relevant_is_silence(rest: Rest) -> None:
    rest.keep("We deploy with Ansible.")
    answer = rest.injected("translate this poem about autumn leaves into French please")
    nothing = {"below_relevance": 0, "in_context": 0, "over_budget": 0, "best_relevance": 0.0}
    assert (answer["block"], answer["chars"], answer["fingerprint"]) == ("", 0, "")
    assert (answer["memories"], answer["unchanged"], answer["withheld"]) == ([], False, nothing)


def test_a_weak_hit_is_withheld_from_a_prompt_but_searched(rest: Rest) -> None:
    uid = rest.keep("The kettle is red.")
    query = "kettle of fish swimming upstream against rapid mountain water"
    answer = rest.injected(query)
    assert answer["memories"] == []
    assert answer["withheld"]["below_relevance"] == 1
    assert 0 < answer["withheld"]["best_relevance"] < 0.55
    assert rest.found(query) == [uid]


def test_a_recall_writes_nothing_and_is_no_injection(rest: Rest) -> None:
    rest.keep("We deploy with Ansible.")
    audited = AuditEntry.objects.count()
    for mode in ("inject", "search"):
        rest.post("/recall", {"query": "deploy", "mode": mode})
    assert AuditEntry.objects.count() == audited
    assert not Injection.objects.exists()
    assert not HarnessSession.objects.exists()
    memory = Memory.objects.get()
    assert (memory.injection_count, memory.last_injected_at) == (0, None)


def test_the_block_is_the_same_bytes_for_the_same_set(rest: Rest, configure: Callable[..., None]) -> None:
    configure(inject_min_relevance=0.2)
    rest.keep("Deploy with Ansible on Monday.", valid_from="2026-01-02")
    rest.keep("Ansible needs Python.", valid_from="2026-01-01")
    one, other = rest.injected("Ansible Python"), rest.injected("Ansible Monday")
    assert [hit["uid"] for hit in one["memories"]] != [hit["uid"] for hit in other["memories"]]
    assert one["block"] == other["block"]
    assert one["fingerprint"] == other["fingerprint"]
    lines = one["block"].splitlines()[2:-1]
    assert lines == sorted(lines, key=lambda line: line.split(", ")[1])


def test_a_known_fingerprint_without_a_session_is_unchanged(rest: Rest) -> None:
    rest.keep("We deploy with Ansible.")
    first = rest.injected("deploy")
    again = rest.injected("deploy Ansible", fingerprint=first["fingerprint"])
    assert (again["unchanged"], again["block"], again["memories"]) == (True, "", [])
    assert again["fingerprint"] == first["fingerprint"]
    rest.keep("Deploy on Monday.")
    assert rest.injected("deploy", fingerprint=first["fingerprint"])["unchanged"] is False


def test_the_budget_takes_whole_entries_and_counts_utf_16_units(rest: Rest) -> None:
    for number in range(4):
        rest.keep(f"Deploy note {number} " + "🙂" * 50)
    whole = rest.injected("deploy note")
    assert whole["chars"] == len(whole["block"].encode("utf-16-le")) // 2
    budget = whole["chars"] - 1
    less = rest.injected("deploy note", budget_chars=budget)
    assert less["chars"] <= budget
    assert (len(less["memories"]), less["withheld"]["over_budget"]) == (3, 1)
    none = rest.injected("deploy note", budget_chars=0)
    assert (none["block"], none["memories"], none["withheld"]["over_budget"]) == ("", [], 4)


def test_in_search_mode_the_budget_bounds_the_block_only(rest: Rest) -> None:
    rest.keep("Deploy with Ansible.")
    answer = rest.post("/recall", {"query": "deploy", "mode": "search", "budget_chars": 10}).json
    assert answer["block"] == ""
    assert len(answer["memories"]) == 1


def test_filters_hold_inside_the_search(rest: Rest) -> None:
    decision = rest.keep("Deploy by Ansible.", kind="decision", tags=["ops", "ci"])
    fact = rest.keep("Deploy takes an hour.", kind="fact", tags=["ops"])
    rest.keep("Deploy log.", kind="artifact")
    assert rest.found("deploy", kinds=["decision"]) == [decision]
    assert set(rest.found("deploy", kinds=["decision", "fact"])) == {decision, fact}
    assert rest.found("deploy", tags=["ops", "ci"]) == [decision]
    assert rest.found("deploy", tags=["op"]) == []
    assert len(rest.found("deploy", kinds=[], tags=[])) == 3


def test_a_project_sees_itself_and_what_holds_everywhere(rest: Rest) -> None:
    shop = rest.keep("Deploy the shop.", project="acme/shop")
    blog = rest.keep("Deploy the blog.", project="acme/blog")
    everywhere = rest.keep("Deploy carefully.")
    assert set(rest.found("deploy", project="acme/shop")) == {shop, everywhere}
    assert set(rest.found("deploy", project="shop")) == {shop, everywhere}
    for whole in (None, "", "*"):
        assert set(rest.found("deploy", project=whole)) == {shop, blog, everywhere}
    assert rest.found("deploy", scope="other") == []


def test_what_was_true_then_is_found_then(rest: Rest) -> None:
    old = rest.keep("We use Redis as the queue.", valid_from="2026-01-01")
    new = rest.keep("We use Postgres as the queue.", supersedes=[old], valid_from="2026-03-01")
    assert rest.found("queue") == [new]
    assert rest.found("queue", as_of="2026-02-01") == [old]
    assert rest.found("queue", as_of="2026-02-28T23:59:59-01:00") == [new]
    assert rest.found("queue", as_of="2025-12-31") == []
    boundary = rest.get(f"/api/memories/{new}").json["valid_from"]
    assert rest.found("queue", as_of=boundary) == [new]
    rest.delete(f"/api/memories/{old}")
    assert rest.found("queue", as_of="2026-02-01") == []


@pytest.mark.parametrize(
    "fields",
    [
        {"query": None},
        {"query": 5},
        {"mode": "foo"},
        {"limit": 0},
        {"limit": 51},
        {"limit": -1},
        {"limit": 1e9},
        {"limit": "many"},
        {"limit": 1.5},
        {"limit": float("nan")},
        {"limit": None},
        {"budget_chars": -1},
        {"budget_chars": 1_000_001},
        {"kinds": ["foo"]},
        {"kinds": "fact"},
        {"tags": ["t" * 201]},
        {"tags": [f"t{n}" for n in range(51)]},
        {"as_of": "2026-03-01T12:00:00"},
        {"as_of": "then"},
        {"project": "p" * 201},
        {"scope": "s" * 201},
        {"session": "s" * 201},
        {"session": "s", "harness": "h" * 201},
        {"reset": "perhaps"},
    ],
    ids=lambda fields: f"{fields}"[:40],
)
def test_what_cannot_be_meant_is_refused(rest: Rest, fields: dict[str, Any]) -> None:
    assert rest.post("/recall", {"query": "deploy", **fields}).code[0] == 422
    assert not HarnessSession.objects.exists()


@pytest.mark.parametrize("query", ["", " ", "\0", "the of and", "🙂", "?" * 5000])
def test_a_query_that_says_nothing_finds_nothing(rest: Rest, query: str) -> None:
    rest.keep("We deploy with Ansible.")
    assert rest.found(query) == []
    assert rest.injected(query)["block"] == ""


def test_times_go_out_exactly_as_they_may_come_back(rest: Rest) -> None:
    uid = rest.keep("We deploy with Ansible.")
    [hit] = rest.injected("deploy")["memories"]
    assert hit["valid_from"].endswith("Z")
    assert rest.found("deploy", as_of=hit["valid_from"]) == [uid]


def test_text_outside_ascii_comes_back_as_it_was(rest: Rest) -> None:
    text = "Größe über 9000: 中文 한국어 עברית 🙂 \u200d"
    uid = rest.keep(text)
    assert rest.get(f"/api/memories/{uid}").json["content"] == text
    assert json.loads(json.dumps(rest.injected("Größe")))["memories"][0]["uid"] == uid
