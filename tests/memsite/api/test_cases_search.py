"""Faults of searching that users of other memory services met, through REST."""

import pytest

from tests.memsite.api.conftest import Rest


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("build tag blue-116 is green", "blue-116"),
        ("run the pre-edit hook", "pre-edit"),
        ("the chat is -100821 today", "-100821"),
        ("release 2026-03-01 went out", "2026-03-01"),
    ],
)
def test_a_hyphen_is_no_operator(rest: Rest, text: str, query: str) -> None:
    uid = rest.keep(text)
    rest.keep("something else altogether")
    answer = rest.post("/recall", {"query": query, "mode": "search"}).json
    assert [hit["uid"] for hit in answer["memories"]] == [uid]
    assert answer["degraded"] is None
    assert [hit["uid"] for hit in rest.injected(query)["memories"]] == [uid]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("memory:safe", True),
        ('say "hi', True),
        ("safe AND", True),
        ("safe OR", True),
        ("NOT safe", True),
        ("NEAR(safe", True),
        ("(safe", True),
        ("safe*", True),
        ("^safe", True),
        ("{safe b}:c", True),
        ("+safe", True),
        ("content: safe", True),
        ("safe' OR 1=1 --", True),
        ("safe;%_\\", True),
        ("NOT", False),
        ("NEAR(", False),
        ("a*", False),
        ("^x", False),
        ('""', False),
        ("'", False),
        ('"', False),
        ("*", False),
        ("(", False),
        ("{a b}:c", False),
        ("AND OR NOT", False),
        ("--", False),
    ],
)
def test_the_syntax_of_a_search_engine_is_inert(rest: Rest, query: str, found: bool) -> None:
    uid = rest.keep("memory is safe; they say hi to it")
    for mode in ("search", "inject"):
        answer = rest.post("/recall", {"query": query, "mode": mode})
        assert answer.status == 200
        assert answer.json["degraded"] is None
    assert (uid in rest.found(query)) is found


@pytest.mark.parametrize("query", ["don't use agents", "don’t use agents", "'agents'", "agents'"])
def test_an_apostrophe_is_text(rest: Rest, query: str) -> None:
    uid = rest.keep("we don't use agents here")
    assert rest.found(query) == [uid]


@pytest.mark.parametrize("query", ["migration of database", "database migration", "was the migration postponed?"])
def test_a_question_is_no_phrase(rest: Rest, query: str) -> None:
    uid = rest.keep("the database migration was postponed")
    assert rest.found(query) == [uid]
    assert [hit["uid"] for hit in rest.injected(query)["memories"]] == [uid]


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("deploys to uteke-cloud-dev now", "uteke-cloud-dev"),
        ("deploys to uteke-cloud-dev now", "uteke"),
        ("deploys to uteke-cloud-dev now", "cloud-dev"),
        ("deploys to uteke-cloud-dev now", "uteke-cl"),
        ("see ADR-0005 first", "ADR-0005"),
        ("see ADR-0005 first", "adr-0005"),
        ("pinned at v1.2.3 for good", "v1.2.3"),
        ("lives in src/app/models.py there", "src/app/models.py"),
        ("lives in src/app/models.py there", "models.py"),
        ("call foo_bar twice", "foo_bar"),
        ("call foo_bar twice", "bar"),
        ("call getUserById twice", "getUserById"),
        ("call getUserById twice", "UserBy"),
    ],
)
def test_an_identifier_is_found_whole_and_in_parts(rest: Rest, text: str, query: str) -> None:
    uid = rest.keep(text)
    rest.keep("something else altogether")
    assert rest.found(query) == [uid]


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("我们决定把数据库迁移到新的服务器。", "迁移"),
        ("我们决定把数据库迁移到新的服务器。", "数据库"),
        ("我们决定把数据库迁移到新的服务器。", "库"),
        ("版本使用gen-x构建系统", "gen-x"),
        ("版本使用gen-x构建系统", "构建"),
        ("the db is slow", "db"),
        ("we run ci nightly", "ci"),
        ("데이터베이스를 옮겼다", "옮겼다"),
        ("データベースを移行した", "移行"),
        ("die Größe zählt", "Größe"),
        ("die Größe zählt", "GRÖSSE zählt"),
        ("ΟΔΟΣ ένα", "οδος"),
    ],
)
def test_short_words_and_scripts_without_spaces_are_found(rest: Rest, text: str, query: str) -> None:
    uid = rest.keep(text)
    rest.keep("something else altogether")
    assert uid in rest.found(query)


def test_the_end_of_a_long_text_is_found(rest: Rest) -> None:
    lines = [f"line {number} of an ordinary log with nothing to see" for number in range(4000)]
    uid = rest.keep("\n".join([*lines, "the last line names the zanzibar server"]))
    answer = rest.injected("zanzibar server")
    assert [hit["uid"] for hit in answer["memories"]] == [uid]
    assert "zanzibar" in answer["block"]
    assert "zanzibar" in answer["memories"][0]["excerpt"]
    assert answer["chars"] <= 2000


def test_the_best_stand_first_and_the_limit_cuts_the_rest(rest: Rest) -> None:
    for number in range(30):
        name = (
            "abcdefghij"[number % 10] + "xyz"[number // 10]
        )  # a number would be evidence of a change, and move the order
        filler = " ".join(f"filler{name}{chr(ord('a') + one)}" for one in range(number % 6 * 5))
        words = "parrot cage" if number % 3 else "parrot"
        rest.keep(
            f"{words} {name}ona {name}ilo {filler}",
            kind=("fact", "decision")[number % 2],
            tags=["even"] * (1 - number % 2),
        )
    everything = rest.post("/recall", {"query": "parrot cage", "mode": "search", "limit": 50}).json["memories"]
    assert len(everything) == 30
    scores = [hit["score"] for hit in everything]
    assert scores == sorted(scores, reverse=True)
    order = [hit["uid"] for hit in everything]
    assert rest.found("parrot cage", limit=5) == order[:5]
    kinds = {hit["uid"]: hit["kind"] for hit in everything}
    decisions = [uid for uid in order if kinds[uid] == "decision"]
    assert rest.found("parrot cage", limit=50, kinds=["decision"]) == decisions
    assert rest.found("parrot cage", limit=4, kinds=["decision"]) == decisions[:4]
    facts = [uid for uid in order if kinds[uid] == "fact"]
    assert rest.found("parrot cage", limit=50, tags=["even"]) == facts
    assert rest.found("parrot cage", limit=50, as_of="2020-01-01") == []
