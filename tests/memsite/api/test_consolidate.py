"""Consolidation over HTTP: for whoever may write, in the scopes that the token reaches."""

from collections.abc import Callable

import pytest

from memories.models import Memory
from tests.memsite.api.conftest import Rest

CONSOLIDATE = "/api/maintenance/consolidate"
TEXTS = ("The nightly deploy runs from the release branch.", "Nightly deploy: runs from the release branch as usual.")


def fill(client: Rest, **fields: str) -> list[str]:
    return [client.keep(text, **fields) for text in TEXTS]


def test_it_needs_no_right_to_maintain_and_can_be_undone(rest: Rest) -> None:
    uids = fill(rest)
    planned = rest.post(CONSOLIDATE, {"dry_run": True}).json
    assert planned["run"] == ""
    assert [one["uids"] for one in planned["clusters"]] == [uids]
    assert planned["clusters"][0]["uid"] is None
    assert Memory.objects.live().count() == 2
    done = rest.post(CONSOLIDATE, {}).json
    (cluster,) = done["clusters"]
    assert rest.found("nightly deploy") == [cluster["uid"]]
    assert rest.get(f"/api/memories/{cluster['uid']}").json["content"] == cluster["text"]
    undone = rest.post(CONSOLIDATE, {"undo": done["run"]}).json
    assert sorted(undone["restored"]) == sorted(uids)
    assert undone["removed"] == [cluster["uid"]]
    assert rest.get(f"/api/memories/{cluster['uid']}").code == (404, "not_found")
    assert rest.post(CONSOLIDATE, {"undo": "nothing"}).code == (404, "not_found")


def test_a_project_narrows_it(rest: Rest) -> None:
    fill(rest, project="acme/a")
    fill(rest, project="acme/b")
    assert [one["project"] for one in rest.post(CONSOLIDATE, {"project": "acme/b"}).json["clusters"]] == ["acme/b"]
    assert [one["project"] for one in rest.post(CONSOLIDATE, {"project": "*"}).json["clusters"]] == ["acme/a"]


@pytest.mark.parametrize("undoes", [False, True])
def test_a_token_consolidates_and_undoes_in_its_own_scopes_only(
    stack: Callable[..., Rest], token: Callable[..., str], undoes: bool
) -> None:
    mine, other = stack(token("mine", scopes=["mine"])), stack(token("other", scopes=["other"]))
    fill(mine)
    fill(other)
    assert mine.post(CONSOLIDATE, {"scope": "other"}).code == (403, "forbidden")
    done = mine.post(CONSOLIDATE, {}).json
    assert [one["scope"] for one in done["clusters"]] == ["mine"]
    assert len(other.found("nightly deploy")) == 2
    if undoes:
        assert other.post(CONSOLIDATE, {"undo": done["run"]}).code == (404, "not_found")
        assert mine.post(CONSOLIDATE, {"undo": done["run"]}).status == 200


def test_who_may_only_read_may_not(stack: Callable[..., Rest], token: Callable[..., str]) -> None:
    assert stack(token("reader", may_write=False)).post(CONSOLIDATE, {}).code == (403, "forbidden")
    assert stack().post(CONSOLIDATE, {}).code == (401, "unauthorized")
