"""A real browser that remembers what it complained of and where it went, and the service it looks at."""

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import ConsoleMessage, Page, Request, sync_playwright

from tests.requirements import need
from tests.service import Home, Service

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
RULES = {"label-title-only": {"enabled": False}}
"""Django labels its search box by a picture with a text, which this rule does not count; `label` does."""
DESKTOP, TELEPHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}


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


@pytest.fixture
def seen() -> Seen:
    return Seen()


@pytest.fixture
def page(seen: Seen) -> Iterator[Page]:
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    need(chromium, "no Chromium is installed")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        page = browser.new_page(viewport=DESKTOP)  # type: ignore[arg-type]
        page.set_default_timeout(10_000)
        page.on("console", seen.message)
        page.on("pageerror", lambda error: seen.complaints.append(str(error)))
        page.on("request", seen.request)
        yield page
        browser.close()


@pytest.fixture(scope="session")
def axe() -> str:
    """The source of axe-core, which finds what hinders people who cannot see or point."""
    file = Path(os.environ.get("MEMSITE_MCP_TOOLS", "")) / "node_modules/axe-core/axe.min.js"
    need(file.is_file(), "axe-core is not installed: export MEMSITE_MCP_TOOLS=$(.ci/mcp-tools)")
    return file.read_text(encoding="utf-8")


def login_link(home: Home, **variables: str) -> str:
    assert home.started[-1].url  # waits until the service answers
    link = home.run("loginlink", **variables)
    assert link.returncode == 0, link.stderr
    return link.stdout.strip()


def log_in(home: Home, page: Page, **variables: str) -> None:
    page.goto(login_link(home, **variables))


def act(page: Page, action: str) -> None:
    """Choose an action on the page of one object and run it."""
    page.get_by_label("Action:").select_option(action)
    page.get_by_role("button", name="Run").click()


def host(service: Service) -> str:
    return service.url.removeprefix("http://")


def violations(page: Page, axe: str) -> list[str]:
    """What axe-core calls serious or critical on the page shown."""
    page.evaluate(axe)
    found: list[dict[str, Any]] = page.evaluate("async rules => (await axe.run({rules})).violations", RULES)
    return [
        f"{one['id']}: {node['html'][:200]} ({node['failureSummary'][:300]})"
        for one in found
        for node in one["nodes"][:3]
        if one["impact"] in ("serious", "critical")
    ]
