"""A token reaches its scopes and nothing else, whatever it names."""

from collections.abc import Callable

import pytest

from memories.models import Memory
from memories.remember import Draft, remember
from tests.memsite.api.conftest import Rest

FOREIGN = "The blog sells coffee."


@pytest.fixture
def foreign(transactional_db: None) -> str:
    return str(remember(Draft(content=FOREIGN, scope="blog", project="acme/blog", tags=["foreign"])).uid)


@pytest.fixture
def shop(stack: Callable[..., Rest], token: Callable[..., str]) -> Rest:
    """The client of a token that reaches one scope."""
    return stack(token("shop client", scopes=["shop"]))


@pytest.fixture
def both(stack: Callable[..., Rest], token: Callable[..., str]) -> Rest:
    return stack(token("both", scopes=["shop", "blog"]))


def test_a_call_that_names_no_scope_gets_the_only_one(shop: Rest, foreign: str) -> None:
    uid = shop.keep("The shop sells tea.")
    assert Memory.objects.get(uid=uid).scope == "shop"
    assert shop.found("sells") == [uid]
    assert [item["uid"] for item in shop.get("/api/memories").json["items"]] == [uid]
    assert [item["uid"] for item in shop.get("/api/memories?scope=").json["items"]] == [uid]


def test_the_name_of_the_token_is_the_actor(shop: Rest) -> None:
    shop.keep("tea", harness="codex")
    assert Memory.objects.get().actor == "shop client"


def test_a_call_that_names_no_scope_gets_the_default_if_there_are_several(
    stack: Callable[..., Rest], token: Callable[..., str], both: Rest, foreign: str
) -> None:
    assert both.post("/ingest", {"content": "tea"}).code == (403, "forbidden")
    assert both.found("coffee", scope="blog") == [foreign]
    assert both.found("coffee", scope="shop") == []
    with_default = stack(token("with default", scopes=["shop", "default"]))
    with_default.keep("tea")
    assert Memory.objects.get(content="tea").scope == "default"


def test_a_token_without_scopes_reaches_all(
    stack: Callable[..., Rest], token: Callable[..., str], foreign: str
) -> None:
    anyone = stack(token("anyone"))
    assert anyone.get(f"/api/memories/{foreign}").status == 200
    assert anyone.found("coffee", scope="blog") == [foreign]
    assert anyone.found("coffee") == []


@pytest.mark.parametrize("scope", ["blog", "default", "Shop", "sho", "shop,blog", "*", "%", " blog\0"])
def test_naming_a_foreign_scope_is_forbidden(shop: Rest, foreign: str, scope: str) -> None:
    for path, body in (
        ("/ingest", {"content": "tea"}),
        ("/recall", {"query": "coffee"}),
        ("/inject/report", {"uids": [foreign]}),
    ):
        assert shop.post(path, {**body, "scope": scope}).code == (403, "forbidden")
    query = {" blog\0": "%20blog%00", "%": "%25"}.get(scope, scope)
    for path in ("/api/memories", "/api/injections"):
        assert shop.get(f"{path}?scope={query}").code == (403, "forbidden")
    assert Memory.objects.count() == 1


def test_a_foreign_memory_is_as_unknown_as_one_that_never_was(shop: Rest, foreign: str) -> None:
    for uid in (foreign, "0" * 32):
        path = f"/api/memories/{uid}"
        answers = [
            shop.get(path),
            shop.patch(path, {"pinned": True}),
            shop.patch(path, {"content": "The blog sells nothing."}),
            shop.delete(path),
            shop.delete(f"{path}?chain=true"),
        ]
        assert {answer.code for answer in answers} == {(404, "not_found")}
        assert {answer.json["detail"].replace(uid, "") for answer in answers} == {"There is no memory ."}
    assert shop.post("/ingest", {"content": "mine", "supersedes": [foreign]}).code == (404, "not_found")
    memory = Memory.objects.get()
    assert (memory.content, memory.pinned, memory.deleted_at, memory.valid_to) == (FOREIGN, False, None, None)


def test_a_foreign_memory_is_in_no_answer(shop: Rest, foreign: str) -> None:
    shop.keep("The shop sells tea.")
    assert shop.post("/inject/report", {"uids": [foreign]}).json == {"accepted": 0}
    for project in ("acme/blog", "blog", "*"):
        assert foreign not in shop.found("coffee sells", project=project)
    for path in ("/api/memories?state=all", "/api/memories?q=coffee", "/api/stats", "/api/injections"):
        body = shop.get(path).body.decode()
        assert not any(word in body for word in (foreign, "coffee", "acme/blog"))


def test_statistics_are_those_of_the_scopes_that_are_reached(shop: Rest, both: Rest, foreign: str) -> None:
    uid = shop.keep("tea")
    shop.post("/inject/report", {"uids": [uid], "chars": 8})
    both.post("/inject/report", {"uids": [foreign], "scope": "blog", "chars": 80})
    mine, all_of_them = shop.get("/api/stats").json, both.get("/api/stats").json
    assert mine["memories"]["by_state"]["live"] == 1
    assert (mine["injections"]["total"], mine["injections"]["chars"]) == (1, 8)
    assert [one["uid"] for one in mine["injections"]["most_injected"]] == [uid]
    assert (all_of_them["memories"]["by_state"]["live"], all_of_them["injections"]["total"]) == (2, 2)


def test_a_token_that_may_not_write_only_reads(
    stack: Callable[..., Rest], token: Callable[..., str], foreign: str
) -> None:
    reader = stack(token("reader", may_write=False))
    path = f"/api/memories/{foreign}"
    refused = [
        reader.post("/ingest", {"content": "tea"}),
        reader.post("/inject/report", {"uids": [foreign], "scope": "blog"}),
        reader.patch(path, {"pinned": True}),
        reader.patch(path, {"content": "no"}),
        reader.delete(path),
    ]
    assert {answer.code for answer in refused} == {(403, "forbidden")}
    assert reader.get(path).json["content"] == FOREIGN
    assert reader.found("coffee", scope="blog") == [foreign]
    assert Memory.objects.get().injection_count == 0


def test_a_reader_with_a_session_may_recall(
    stack: Callable[..., Rest], token: Callable[..., str], foreign: str
) -> None:
    reader = stack(token("reader", may_write=False, scopes=["blog"]))
    assert reader.injected("coffee blog", session="s1")["memories"][0]["uid"] == foreign


def test_what_is_open_needs_no_token_and_all_else_does(stack: Callable[..., Rest], token: Callable[..., str]) -> None:
    token()
    for path in ("/health", "/api/openapi.json", "/api/docs"):
        assert stack().get(path).status == 200
    for method, path in (
        ("POST", "/ingest"),
        ("POST", "/recall"),
        ("POST", "/inject/report"),
        ("GET", "/api/stats"),
        ("GET", "/api/memories"),
        ("GET", "/api/injections"),
        ("DELETE", "/api/memories/x"),
        ("GET", "/nowhere"),
    ):
        assert stack("wrong").ask(method, path).code == (401, "unauthorized")
