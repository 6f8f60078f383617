"""Faults with projects, tags and kinds that users of other memory services met, through REST."""

from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from memories.models import Memory
from tests.memsite.api.conftest import Rest


def test_an_explicit_project_wins_over_the_working_directory(
    rest: Rest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir("/")
    for name in ("shop", "blog"):
        (tmp_path / name / ".git").mkdir(parents=True)
        (tmp_path / name / ".git/config").write_text(f'[remote "origin"]\n\turl = https://example.com/acme/{name}\n')

    def project(**fields: Any) -> str:
        return str(Memory.objects.get(uid=rest.keep(f"note {fields}", **fields)).project)

    assert project(cwd=str(tmp_path / "shop")) == "acme/shop"
    assert project(cwd=str(tmp_path / "shop"), project="acme/blog") == "acme/blog"
    assert project(project=str(tmp_path / "blog")) == "acme/blog"
    assert project(cwd=str(tmp_path)) == "", "a parent of several repositories is none of them"
    assert project() == "", "the service's own working directory says nothing"
    assert project(cwd="relative/path") == project(cwd="/") == project(cwd="~") == ""


NAMES = ["mem-palace", "a:b", "a/b", "a,b", "a b", "🙂", "%", "_", "a'b", 'a"b', "a\\b", "*x", "..", "A/B", "ü"]


def test_every_name_of_a_project_is_itself_and_no_pattern(rest: Rest) -> None:
    uids = {name: rest.keep(f"parrot of project number {number}", project=name) for number, name in enumerate(NAMES)}
    assert {name: Memory.objects.get(uid=uid).project for name, uid in uids.items()} == {name: name for name in NAMES}
    for name, uid in uids.items():
        assert rest.found("parrot", project=name) == [uid]
        listed = rest.get(f"/api/memories?project={quote(name, safe='')}").json["items"]
        assert [item["uid"] for item in listed] == [uid]
    assert rest.post("/ingest", {"content": "x", "project": "p" * 300}).code == (422, "rejected")
    assert len(rest.found("parrot", project="", limit=50)) == len(NAMES)


TAGS = ["auth", "authentication", "a_b", "axb", "100%", "1000", 'a"b', "a'b", "a,b", "[a]", "AUTH", "null", "1", "ü"]


def test_a_tag_matches_whole_and_literally(rest: Rest) -> None:
    uids = {tag: rest.keep(f"parrot number {number}", tags=[tag, "all"]) for number, tag in enumerate(TAGS)}
    for tag, uid in uids.items():
        assert rest.found("parrot", tags=[tag]) == [uid]
        assert rest.found("parrot", tags=["all", tag]) == [uid]
        listed = rest.get(f"/api/memories?tag={quote(tag, safe='')}").json["items"]
        assert [item["uid"] for item in listed] == [uid]
    for tag in ("aut", "uth", "%", "_", "a", "1%", "*"):
        assert rest.found("parrot", tags=[tag]) == []
    assert rest.found("parrot", tags=["auth", "axb"]) == []


def test_empty_and_missing_mean_the_same(rest: Rest) -> None:
    everywhere = rest.keep("parrot everywhere", project="")
    shop = rest.keep("parrot in the shop", project="acme/shop")
    missing = rest.found("parrot")
    assert set(missing) == {everywhere, shop}
    for fields in ({"project": ""}, {"project": None}, {"project": " "}, {"project": "*"}, {"cwd": ""}, {"cwd": None}):
        assert rest.found("parrot", **fields) == missing
    filters: list[dict[str, Any]] = [{"tags": []}, {"tags": None}, {"tags": [""]}, {"kinds": []}, {"kinds": None}]
    for fields in [*filters, {"as_of": ""}]:
        assert rest.found("parrot", **fields) == missing
    for scope in ("", None, " ", "default"):
        assert rest.found("parrot", scope=scope) == missing
    for query in ("", "project=", "project=*", "scope=", "kind=&tier=&source=&harness=&tag=&q=&as_of="):
        assert rest.get(f"/api/memories?{query}").json["total"] == 2
    for number, project in enumerate(("", None, " ", "*")):
        assert Memory.objects.get(uid=rest.keep(f"owl {number}", project=project)).project == ""


@pytest.mark.parametrize("kind", ["foo", "Fact", "FACT", "facts", "*"])
def test_an_unknown_kind_is_never_turned_into_another(rest: Rest, kind: str) -> None:
    answer = rest.post("/ingest", {"content": "tea", "kind": kind})
    assert answer.code == (422, "rejected")
    assert "preference, decision, fact, artifact" in answer.json["detail"]
    assert rest.post("/recall", {"query": "tea", "kinds": [kind]}).code == (422, "rejected")
    assert rest.get(f"/api/memories?kind={kind}").code == (422, "rejected")
    assert not Memory.objects.exists()
