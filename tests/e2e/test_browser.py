"""A person at the admin: a real browser at the real service."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import ConsoleMessage, Page, Request, expect, sync_playwright

from tests.requirements import need
from tests.service import Home, Service

pytestmark = [pytest.mark.browser, pytest.mark.server]
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]


@dataclass
class Seen:
    """What the browser complained of, and where it went."""

    complaints: list[str] = field(default_factory=list)
    hosts: set[str] = field(default_factory=set)

    def message(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.complaints.append(message.text)

    def request(self, request: Request) -> None:
        if request.url.startswith("http"):
            self.hosts.add(request.url.split("/")[2])


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    home = Home(tmp_path_factory.mktemp("home"))
    yield home
    home.end()


@pytest.fixture(scope="module")
def service(home: Home) -> Service:
    return home.start()


@pytest.fixture
def seen() -> Seen:
    return Seen()


@pytest.fixture
def page(seen: Seen, tmp_path: Path) -> Iterator[Page]:
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    need(chromium, "no Chromium is installed")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.set_default_timeout(10_000)
        page.on("console", seen.message)
        page.on("pageerror", lambda error: seen.complaints.append(str(error)))
        page.on("request", seen.request)
        yield page
        browser.close()


def log_in(home: Home, page: Page) -> None:
    link = home.run("loginlink")
    assert link.returncode == 0, link.stderr
    page.goto(link.stdout.strip())


def test_a_person_logs_in_by_link_finds_corrects_forgets_and_restores(
    home: Home, service: Service, page: Page, seen: Seen
) -> None:
    service.post("/ingest", content="The deploy key rotates every 30 days.", kind="fact", project="acme/shop")

    log_in(home, page)
    page.goto(f"{service.url}/admin/memories/memory/?q=when+does+the+deploy+key+rotate")
    expect(page.locator("#result_list tbody tr")).to_have_count(1)
    page.locator("#result_list tbody tr a").first.click()
    expect(page.get_by_text("The deploy key rotates every 30 days.").first).to_be_visible()

    page.get_by_label("Action:").select_option("correct")
    page.get_by_role("button", name="Run").click()
    page.locator("textarea").first.fill("The deploy key rotates every 90 days.")
    page.locator("form:has(textarea) [type=submit]").first.click()
    expect(page.get_by_text("The deploy key rotates every 90 days.").first).to_be_visible()
    expect(page.get_by_text("correction").first).to_be_visible()

    answer = service.post("/recall", query="when does the deploy key rotate", project="acme/shop")
    assert [hit["content"] for hit in answer["memories"]] == ["The deploy key rotates every 90 days."]

    page.get_by_label("Action:").select_option("forget")
    page.get_by_role("button", name="Run").click()
    page.get_by_role("button", name="forget").or_(page.locator("form [type=submit]")).last.click()
    assert service.post("/recall", query="when does the deploy key rotate", project="acme/shop")["block"] == ""

    page.goto(f"{service.url}/admin/memories/memory/?state=forgotten")
    page.locator("#result_list tbody tr a").first.click()
    page.get_by_label("Action:").select_option("restore")
    page.get_by_role("button", name="Run").click()
    assert "90 days" in service.post("/recall", query="when does the deploy key rotate", project="acme/shop")["block"]

    assert seen.complaints == []
    assert seen.hosts == {service.url.removeprefix("http://")}


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
    assert seen.hosts == {service.url.removeprefix("http://")}
