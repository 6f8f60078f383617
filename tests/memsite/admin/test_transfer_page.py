"""Export and import in the browser: who may, in which scopes, what is written, and what is shown."""

import asyncio
import csv
import io
import json
from collections.abc import Callable
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.http import StreamingHttpResponse
from django.test import AsyncClient, Client
from django.urls import reverse

from memories import lifecycle
from memories.models import AuditEntry, Memory
from memories.transfer import exporting
from memories.transfer.exporting import Extent
from memsite.transfers import MOST_SHOWN, PART, Streamed
from tests.memories.admin.pages import NASTY
from tests.memsite.admin.conftest import logged_in

type Remembered = Callable[..., Memory]

pytestmark = pytest.mark.django_db(transaction=True)


def download(client: Client, **fields: Any) -> tuple[Any, str]:
    """The response, and what a browser would save; asynchronously, as the service streams it."""
    browser = AsyncClient()
    browser.cookies = client.cookies

    async def fetch() -> tuple[Any, str]:
        response = await browser.post(reverse("admin:export"), {"format": "jsonl", **fields})
        if not isinstance(response, StreamingHttpResponse):
            return response, response.content.decode()
        return response, b"".join([part async for part in response]).decode()

    return async_to_sync(fetch)()


def upload(client: Client, content: str | bytes, *, name: str = "all.jsonl", **fields: Any) -> Any:
    content = content.encode() if isinstance(content, str) else content
    given = {"file": SimpleUploadedFile(name, content), "format": "auto", **fields}
    return client.post(reverse("admin:transfer"), given)


def counts(response: Any) -> dict[str, int]:
    return {row.status: row.memories for row in response.context["shown"].rows}


def contents(text: str) -> list[str]:
    lines = [json.loads(line) for line in text.splitlines()]
    return [line["content"] for line in lines if line.get("type") == "memory"]


def empty_the_store() -> None:
    for memory in Memory.objects.all():
        lifecycle.forget(memory.uid, actor="me", scope=memory.scope)
    lifecycle.purge(actor="me")
    assert not Memory.objects.exists()


def test_what_is_exported_comes_back_to_the_byte(browser: Client, remembered: Remembered):
    old = remembered("The session cap is 1k", scope="team", project="acme/shop", tags=["limits"])
    remembered("The session cap is 2k", scope="team", project="acme/shop", supersedes=[old.uid])
    remembered("The parrot is green.", pinned=True)
    _, saved = download(browser)
    empty_the_store()
    report = upload(browser, saved)
    assert report.status_code == 200
    assert counts(report) == {"created": 3}
    assert AuditEntry.objects.filter(action="import", actor="admin").exists()
    assert download(browser)[1] == saved
    assert counts(upload(browser, saved)) == {"unchanged": 3}


def test_a_download_is_an_attachment_that_no_cache_keeps(browser: Client, remembered: Remembered):
    remembered("The parrot is green.")
    response, _ = download(browser)
    assert response.headers["Content-Disposition"].startswith('attachment; filename="memories-')
    assert response.headers["Content-Disposition"].endswith('.jsonl"')
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert "no-store" in response.headers["Cache-Control"]
    assert "default-src 'self'" in response.headers["Content-Security-Policy"]


def test_scope_and_project_choose_what_leaves(browser: Client, remembered: Remembered):
    remembered("one", scope="team", project="acme/shop")
    remembered("two", scope="team")
    remembered("three")
    assert contents(download(browser, scope="team")[1]) == ["one", "two"]
    assert contents(download(browser, project="acme/shop")[1]) == ["one"]
    assert contents(download(browser, project="(everywhere)")[1]) == ["two", "three"]
    assert contents(download(browser, project="*")[1]) == ["one", "two", "three"]


def test_the_file_goes_to_the_scope_and_project_that_are_chosen(browser: Client):
    for name, place in {"the file": {}, "chosen": {"scope": "team", "project": "acme/shop"}}.items():
        upload(browser, f"- The parrot is green ({name}).\n", name="notes.md", format="bullets", **place)
    assert set(Memory.objects.values_list("scope", "project")) == {("default", ""), ("team", "acme/shop")}
    upload(browser, download(browser, scope="team")[1], scope="other", project="(everywhere)")
    assert Memory.objects.get(scope="other").project == ""


@pytest.mark.parametrize("group", ["viewer", "curator"])
def test_other_groups_get_403(member: Callable[..., User], remembered: Remembered, group: str):
    remembered("The parrot is green.", scope="team")
    client = logged_in(member(group, "team"))
    assert client.get(reverse("admin:transfer")).status_code == 403
    assert upload(client, "- The owl is grey.\n", format="bullets").status_code == 403
    response, text = download(client)
    assert response.status_code == 403
    assert "parrot" not in text
    assert Memory.objects.count() == 1
    assert reverse("admin:transfer") not in client.get(reverse("admin:index")).content.decode()


def test_who_is_not_logged_in_is_sent_to_the_login(remembered: Remembered):
    assert Client().get(reverse("admin:transfer")).status_code == 302
    assert download(Client())[0].status_code == 302
    assert upload(Client(), "- The owl is grey.\n").status_code == 302


def test_members_of_the_group_owner_move_what_is_in_their_scopes(member: Callable[..., User], remembered: Remembered):
    client = logged_in(member("owner", "team", "lab"))
    for scope in ("team", "lab", "default"):
        remembered(f"a text of {scope}", scope=scope)
    assert contents(download(client)[1]) == ["a text of team", "a text of lab"]
    refused, text = download(client, scope="default")
    assert refused.status_code == 422
    assert refused.context["export_form"].errors["scope"]
    assert "a text of default" not in text
    before = Memory.objects.count()
    assert upload(client, "- The owl is grey.\n", format="bullets", scope="default").status_code == 422
    assert upload(client, "- The owl is grey.\n", format="bullets").status_code == 422
    assert Memory.objects.count() == before
    assert counts(upload(client, "- The owl is grey.\n", format="bullets", scope="lab")) == {"created": 1}


def test_a_foreign_scope_inside_a_file_is_bad(browser: Client, member: Callable[..., User], remembered: Remembered):
    remembered("a text of theirs", scope="theirs")
    remembered("a text of team", scope="team")
    _, saved = download(browser)
    empty_the_store()
    response = upload(logged_in(member("owner", "team")), saved)
    assert counts(response) == {"created": 1, "bad": 1}
    assert [memory.scope for memory in Memory.objects.all()] == ["team"]


def test_an_owner_without_a_grant_moves_nothing(member: Callable[..., User], remembered: Remembered):
    remembered("The parrot is green.")
    client = logged_in(member("owner"))
    response, text = download(client)
    assert response.status_code == 422
    assert "parrot" not in text
    assert upload(client, "- The owl is grey.\n", format="bullets").status_code == 422
    assert Memory.objects.count() == 1


def test_the_dry_run_is_ticked_and_writes_nothing(browser: Client, remembered: Remembered):
    page = browser.get(reverse("admin:transfer"))
    assert page.context["import_form"]["dry_run"].value() is True
    remembered("The parrot is green.")
    _, saved = download(browser)
    empty_the_store()
    audited = AuditEntry.objects.count()
    response = upload(browser, saved, dry_run="on")
    assert counts(response) == {"created": 1}
    assert "nothing was written" in response.content.decode()
    assert not Memory.objects.exists()
    assert AuditEntry.objects.count() == audited


def test_what_is_broken_is_told_with_its_line_and_the_rest_comes_in(browser: Client, remembered: Remembered):
    remembered("The parrot is green.")
    header, memory = download(browser)[1].splitlines()
    empty_the_store()
    response = upload(browser, f'{header}\n{{broken\n{memory}\n{{"type": "memory"}}')
    assert counts(response) == {"created": 1, "bad": 2}
    assert [flaw.place for flaw in response.context["shown"].flaws] == ["line 2", "line 4"]
    assert '<td class="report">line 2</td>' in response.content.decode()


def test_of_many_flaws_the_first_are_shown_and_all_are_counted(browser: Client):
    header = download(browser)[1]
    response = upload(browser, header + "{broken\n" * (MOST_SHOWN + 50))
    assert counts(response) == {"bad": MOST_SHOWN + 50}
    html = response.content.decode()
    assert html.count("is not JSON") == MOST_SHOWN
    assert f"The first {MOST_SHOWN} are shown" in html


@pytest.mark.parametrize(
    ("content", "fields"),
    [
        (b"\0\1\2 no format at all", {}),
        (b"", {}),
        (b"SQLite format 3\0 and then nothing", {}),
        (b"\xff\xfe not text", {"format": "bullets"}),
        (b"- one\n", {"format": "spreadsheet"}),
        (b"- one\n", {"format": "bullets", "project": "x" * 201, "dry_run": "on"}),
    ],
)
def test_a_file_or_form_that_cannot_be_used_is_said_on_the_form(
    browser: Client, content: bytes, fields: dict[str, Any]
):
    response = upload(browser, content, name=f"{NASTY}.bin", **fields)
    assert response.status_code in (200, 422)
    assert response.context["import_form"].errors or response.context["shown"].report.bad
    assert NASTY not in response.content.decode()
    assert not Memory.objects.exists()


def test_no_file_is_said_on_the_form(browser: Client):
    response = browser.post(reverse("admin:transfer"), {"format": "auto"})
    assert response.status_code == 422
    assert response.context["import_form"].errors["file"]


@pytest.mark.parametrize("fields", [{"format": "xml"}, {"scope": "x" * 201}, {"project": "x" * 201}])
def test_an_export_that_cannot_be_is_said_on_the_form(browser: Client, fields: dict[str, Any]):
    response, _ = download(browser, **fields)
    assert response.status_code == 422
    assert response.context["export_form"].errors


def test_a_formula_does_not_reach_a_spreadsheet(browser: Client, remembered: Remembered):
    remembered('=HYPERLINK("http://evil.example","click")', project="+1", tags=["@sum", "-2"])
    response, text = download(browser, format="csv")
    assert response.headers["Content-Type"].startswith("text/csv")
    (row,) = csv.DictReader(io.StringIO(text))
    assert row["content"].startswith("'=HYPERLINK")
    assert row["project"] == "'+1"
    assert not any(value.startswith(("=", "+", "-", "@")) for value in row.values())


def test_markup_in_every_field_is_text(browser: Client, remembered: Remembered):
    remembered(f"The parrot is green. {NASTY}", scope=NASTY, project=NASTY, tags=[NASTY], actor=NASTY)
    _, saved = download(browser)
    header, memory = saved.splitlines()
    bad = json.dumps({**json.loads(memory), "uid": NASTY, "kind": NASTY, "valid_from": NASTY})
    form = {"scope": NASTY, "project": f"{NASTY}{'x' * 200}", "format": NASTY}
    pages = [
        upload(browser, f"{header}\n{memory}\n{bad}", name=f"{NASTY}.jsonl"),
        upload(browser, NASTY, name=f"{NASTY}.txt", **form),
        upload(browser, saved, **{**form, "format": "auto"}),
        download(browser, **form)[0],
        browser.get(reverse("admin:transfer")),
    ]
    assert pages[0].context["shown"].flaws
    for page in pages:
        assert NASTY not in page.content.decode()
        assert "unsafe-inline" not in page.headers["Content-Security-Policy"]


def test_a_name_of_a_scope_that_is_markup_is_text(member: Callable[..., User]):
    page = logged_in(member("owner", NASTY)).get(reverse("admin:transfer")).content.decode()
    assert NASTY not in page
    assert "&lt;script&gt;" in page


@pytest.mark.parametrize("name", ["transfer", "export"])
def test_another_site_cannot_post(admin_user: User, name: str):
    client = Client(enforce_csrf_checks=True)
    client.force_login(admin_user)
    assert client.post(reverse(f"admin:{name}"), {"format": "jsonl"}).status_code == 403


def test_an_export_is_not_got_by_following_a_link(browser: Client):
    assert browser.get(reverse("admin:export")).status_code == 405


def test_a_browser_that_leaves_frees_the_database(remembered: Remembered):
    for number in range(4):
        remembered(f"{number} " + "word " * (PART // 5))
    streamed = Streamed(exporting.export(Extent()))
    first = async_to_sync(streamed.__anext__)()
    assert b"word" in first
    assert connection.connection.in_transaction
    streamed.close()
    assert not connection.connection.in_transaction
    with pytest.raises(StopAsyncIteration):
        asyncio.run(anext(streamed))
