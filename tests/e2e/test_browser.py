"""A person at the admin: a real browser at the real service."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import Seen, act, host, log_in, login_link
from tests.service import Home, Service

pytestmark = [pytest.mark.browser, pytest.mark.server]
TOKEN = "a-token-of-the-owner"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    home = Home(tmp_path_factory.mktemp("home"))
    yield home
    home.end()


@pytest.fixture(scope="module")
def service(home: Home) -> Service:
    return home.start()


def test_a_person_logs_in_by_link_finds_corrects_forgets_and_restores(
    home: Home, service: Service, page: Page, seen: Seen
) -> None:
    service.post("/ingest", content="The deploy key rotates every 30 days.", kind="fact", project="acme/shop")

    log_in(home, page)
    page.goto(f"{service.url}/admin/memories/memory/?q=when+does+the+deploy+key+rotate")
    expect(page.locator("#result_list tbody tr")).to_have_count(1)
    page.locator("#result_list tbody tr a").first.click()
    expect(page.get_by_text("The deploy key rotates every 30 days.").first).to_be_visible()

    act(page, "correct")
    page.locator("textarea").first.fill("The deploy key rotates every 90 days.")
    page.locator("form:has(textarea) [type=submit]").first.click()
    expect(page.get_by_text("The deploy key rotates every 90 days.").first).to_be_visible()
    expect(page.get_by_text("correction").first).to_be_visible()

    answer = service.post("/recall", query="when does the deploy key rotate", project="acme/shop")
    assert [hit["content"] for hit in answer["memories"]] == ["The deploy key rotates every 90 days."]

    act(page, "forget")
    page.get_by_role("button", name="forget").or_(page.locator("form [type=submit]")).last.click()
    assert service.post("/recall", query="when does the deploy key rotate", project="acme/shop")["block"] == ""

    page.goto(f"{service.url}/admin/memories/memory/?state=forgotten")
    page.locator("#result_list tbody tr a").first.click()
    act(page, "restore")
    assert "90 days" in service.post("/recall", query="when does the deploy key rotate", project="acme/shop")["block"]

    assert seen.complaints == []
    assert seen.hosts == {host(service)}


def test_stored_markup_never_runs_in_the_admin(home: Home, service: Service, page: Page, seen: Seen) -> None:
    service.post("/ingest", content="<img src=x onerror=alert(1)> &lt;b&gt; </script> stays text.")
    log_in(home, page)
    page.goto(f"{service.url}/admin/memories/memory/")
    expect(page.get_by_text("<img src=x onerror=alert(1)>").first).to_be_visible()
    page.get_by_text("<img src=x onerror=alert(1)>").first.click()
    expect(page.locator("pre").first).to_contain_text("&lt;b&gt; </script> stays text.")
    assert seen.complaints == []


def test_the_api_page_works_without_the_internet(service: Service, page: Page, seen: Seen) -> None:
    page.goto(f"{service.url}/api/docs")
    expect(page.get_by_text("/ingest").first).to_be_visible()
    assert [text for text in seen.complaints if "Content Security Policy" in text] == []
    assert seen.hosts == {host(service)}


def test_a_login_link_works_once(home: Home, service: Service, page: Page) -> None:
    assert service.line
    link = login_link(home)
    page.goto(link)
    expect(page.get_by_role("heading", name="Dashboard")).to_be_visible()
    page.context.clear_cookies()
    assert page.goto(link).status == 403  # type: ignore[union-attr]
    expect(page.get_by_text("This link does not work")).to_be_visible()


def test_a_contradiction_is_settled_and_undone(home: Home, service: Service, page: Page, seen: Seen) -> None:
    service.post("/ingest", content="The session store is Redis.", project="acme/queue")
    service.post("/ingest", content="The session store moved from Redis to Postgres.", project="acme/queue")
    log_in(home, page)
    page.get_by_role("link", name="pending reviews").click()
    page.locator("#result_list tbody th a").first.click()
    expect(page.get_by_text("The session store is Redis.")).to_be_visible()
    expect(page.get_by_text("moved from Redis to Postgres.")).to_be_visible()
    act(page, "confirm")
    expect(page.get_by_text("1 pair is confirmed.")).to_be_visible()
    found = service.post("/recall", query="session store", project="acme/queue", mode="search")["memories"]
    assert [hit["content"] for hit in found] == ["The session store moved from Redis to Postgres."]
    page.goto(f"{service.url}/admin/memories/conflict/?verdict__exact=confirmed")
    page.locator("#result_list tbody th a").first.click()
    act(page, "reject")
    found = service.post("/recall", query="session store", project="acme/queue", mode="search")["memories"]
    assert len(found) == 2
    assert seen.complaints == []


def test_the_playground_explains_and_records_nothing(home: Home, service: Service, page: Page, seen: Seen) -> None:
    service.post("/ingest", content="The invoice run starts at 02:00 every night.", project="acme/billing")
    log_in(home, page)
    page.goto(f"{service.url}/admin/playground/")
    page.get_by_label("Query").fill("when does the invoice run start")
    page.get_by_role("button", name="Recall").click()
    expect(page.locator("pre")).to_contain_text("The invoice run starts at 02:00")
    expect(page.locator(".fate").first).to_have_text("in the block")
    assert service.ask("GET", "/api/injections")[1]["total"] == 0
    assert seen.complaints == []
    assert seen.hosts == {host(service)}


def test_a_purge_is_started_confirmed_and_reported(tmp_path_factory: pytest.TempPathFactory, page: Page, seen: Seen):
    home = Home(tmp_path_factory.mktemp("guarded"))
    try:
        service = home.start(MEMORY_TOKEN=TOKEN, MEMORY_MAINTENANCE_ON_START="0")
        uid = service.post("/ingest", content="The parrot is green.")["uid"]
        service.ask("DELETE", f"/api/memories/{uid}")
        log_in(home, page, MEMORY_TOKEN=TOKEN)
        page.get_by_role("link", name="Maintenance").first.click()
        expect(page.get_by_text("1 forgotten and 0 expired memories would be removed now.")).to_be_visible()
        page.get_by_label("I mean it").check()
        page.get_by_role("button", name="Purge").click()
        expect(page.get_by_text("scrubbed: true")).to_be_visible()  # the page loads itself again until then
        assert service.ask("GET", "/api/stats")[1]["memories"]["by_state"]["forgotten"] == 0
        assert b"parrot" not in home.database.read_bytes()
        assert seen.complaints == []
        assert seen.hosts == {host(service)}
    finally:
        home.end()


def test_a_download_is_brought_in_again_by_an_upload(
    home: Home, service: Service, page: Page, seen: Seen, tmp_path: Path
) -> None:
    uid = service.post("/ingest", content="The kiln cools for nine hours.", scope="kiln")["uid"]
    log_in(home, page)
    page.get_by_role("link", name="Export and import").first.click()
    page.get_by_label("Scope").first.fill("kiln")
    with page.expect_download() as waited:
        page.get_by_role("button", name="Export").click()
    saved = tmp_path / waited.value.suggested_filename
    waited.value.save_as(saved)
    assert uid in saved.read_text(encoding="utf-8")
    for report, written in (("Dry run: nothing was written", 0), ("Imported", 1)):
        page.get_by_label("File").set_input_files(saved)
        page.get_by_label("Scope").last.fill("second kiln")
        page.get_by_role("checkbox", name="Dry run").set_checked(not written)
        page.get_by_role("button", name="Import").click()
        expect(page.get_by_role("heading", name=report)).to_be_visible()
        assert service.ask("GET", "/api/memories?scope=second+kiln")[1]["total"] == written
    assert seen.complaints == []
    assert seen.hosts == {host(service)}


def test_without_authentication_a_purge_is_403(home: Home, service: Service, page: Page) -> None:
    log_in(home, page)
    page.goto(f"{service.url}/admin/maintenance/")
    expect(page.get_by_text("Only while authentication is on").first).to_be_visible()
    expect(page.get_by_role("button", name="Purge")).to_have_count(0)
    token = page.locator("[name=csrfmiddlewaretoken]").first.input_value()
    answer = page.request.post(
        page.url,
        form={"task": "purge", "confirmed": "yes", "csrfmiddlewaretoken": token},
        headers={"Referer": page.url, "Origin": service.url},
    )
    assert answer.status == 403
    assert "set MEMORY_TOKEN" in answer.text()
