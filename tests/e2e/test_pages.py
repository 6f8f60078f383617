"""Every page of the admin, in a wide and a narrow window, light and dark: nothing breaks, runs, or shuts anyone out."""

import json
import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page

from tests.e2e.conftest import DESKTOP, TELEPHONE, Seen, host, log_in, violations
from tests.service import Home, Service

pytestmark = [pytest.mark.browser, pytest.mark.server]
NASTY = "<img src=x onerror=alert(1)><script>alert(2)</script>\"'><b onclick=alert(3)>"
LONG = "averyveryverylongwordwithoutanyspace" * 8
ADMIN = "/admin/"
SIZES = {"wide": DESKTOP, "narrow": TELEPHONE}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    home = Home(tmp_path_factory.mktemp("home"))
    yield home
    home.end()


@pytest.fixture(scope="module")
def service(home: Home) -> Service:
    """With markup in every field that a client can fill."""
    service = home.start()
    labels = {"harness": NASTY, "session": NASTY, "actor": NASTY, "tags": [NASTY, LONG[:190]]}
    first = service.post("/ingest", content=f"The session store is Redis. {NASTY}", project=f"acme/{NASTY}", **labels)
    service.post("/ingest", content=f"The session store is Redis 7. {NASTY}", supersedes=[first["uid"]], **labels)
    service.post("/ingest", content=f"The session store moved to Postgres. {NASTY}", project=f"acme/{NASTY}", **labels)
    last = service.post("/ingest", content=f"{LONG} {NASTY}", project=LONG[:190])
    gone = service.post("/ingest", content=f"The office is in Rome. {NASTY}", project=f"acme/{NASTY}")
    report = {"harness": NASTY, "hook": NASTY, "session": NASTY, "project": f"acme/{NASTY}", "query": NASTY}
    service.post("/inject/report", uids=[last["uid"], gone["uid"]], chars=100, fingerprint="f", **report)
    service.ask("DELETE", f"/api/memories/{gone['uid']}")
    return service


@pytest.fixture
def pages(home: Home, service: Service, page: Page) -> dict[str, str]:
    """The addresses of the pages, logged in."""
    log_in(home, page)
    uids = [item["uid"] for item in service.ask("GET", "/api/memories?state=all")[1]["items"]]
    pairs = [pair["id"] for pair in service.ask("GET", "/api/conflicts")[1]["items"]]
    memory = f"{ADMIN}memories/memory/"
    found = {
        "dashboard": ADMIN,
        "list": f"{memory}?state=all",
        "conflicts": f"{ADMIN}memories/conflict/",
        "conflict": f"{ADMIN}memories/conflict/{pairs[0]}/change/",
        "playground": f"{ADMIN}playground/",
        "maintenance": f"{ADMIN}maintenance/",
        "transfer": f"{ADMIN}transfer/",
        "audit": f"{ADMIN}memories/auditentry/",
        "injections": f"{ADMIN}telemetry/injection/",
        "sessions": f"{ADMIN}telemetry/harnesssession/",
        "add": f"{memory}add/",
    }
    for number, uid in enumerate(uids):
        page.goto(f"{service.url}{memory}uid/{uid}/")
        found[f"memory {number}"] = page.url.removeprefix(service.url)
    key = re.search(r"/memory/(\d+)/", found["memory 0"])
    assert key
    return found | {"merge": f"{memory}{key[1]}/merge/", "edit": f"{memory}{key[1]}/edit/"}


def ask(page: Page) -> None:
    page.get_by_label("Query").fill(f"session store {NASTY}")
    page.get_by_role("button", name="Recall").click()
    page.locator(".candidates").wait_for()


def bring_in(page: Page) -> None:
    """A dry run of a file in which one line is broken."""
    line = json.dumps({"memory": f"{LONG} {NASTY}", "id": NASTY, LONG: NASTY})
    content = f"{line}\n{{{NASTY}\n".encode()
    page.get_by_label("File").set_input_files({"name": f"{NASTY}.jsonl", "mimeType": "text/plain", "buffer": content})
    page.get_by_role("button", name="Import").click()
    page.locator(".flaws").wait_for()


def opened(page: Page, service: Service, pages: dict[str, str]) -> Iterator[str]:
    for name, path in pages.items():
        answer = page.goto(f"{service.url}{path}")
        assert answer is not None
        assert answer.status == 200, name
        page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
        yield name
    page.goto(f"{service.url}{pages['playground']}")
    ask(page)
    yield "playground, answered"
    page.goto(f"{service.url}{pages['transfer']}")
    bring_in(page)
    yield "transfer, reported"


def test_stored_markup_never_runs_and_no_page_complains_or_leaves_the_host(
    service: Service, page: Page, pages: dict[str, str], seen: Seen
) -> None:
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    for name in opened(page, service, pages):
        assert page.locator("img[src=x], b[onclick]").count() == 0, name
        assert seen.complaints == [], name
    assert dialogs == []
    assert seen.hosts == {host(service)}


def test_a_telephone_scrolls_no_page_sideways(service: Service, page: Page, pages: dict[str, str]) -> None:
    page.set_viewport_size(TELEPHONE)  # type: ignore[arg-type]
    wide = {}
    for name in opened(page, service, pages):
        overflow = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        if overflow > 0:
            wide[name] = overflow
    assert wide == {}


CUT_OFF = """[...document.querySelectorAll(":is(.card, fieldset.module) :is(input, select, textarea)")]
    .filter(field => field.getBoundingClientRect().right
                     > field.closest(".card, fieldset.module").getBoundingClientRect().right)
    .map(field => field.name)"""


def test_a_telephone_shows_fields_whole(service: Service, page: Page, pages: dict[str, str]) -> None:
    page.set_viewport_size(TELEPHONE)  # type: ignore[arg-type]
    cut_off = {name: page.evaluate(CUT_OFF) for name in opened(page, service, pages)}
    assert {name: fields for name, fields in cut_off.items() if fields} == {}


def test_a_wide_window_shows_every_column_of_the_lists(service: Service, page: Page, home: Home) -> None:
    """Of labels as long as they usually are."""
    first = service.post("/ingest", content="The kiln burns gas.", project="acme/kiln", scope="kiln")
    service.post("/ingest", content="The kiln burns wood instead of gas.", project="acme/kiln", scope="kiln")
    report = {"harness": "claude", "hook": "UserPromptSubmit", "session": "kiln-7", "project": "acme/kiln"}
    service.post("/inject/report", scope="kiln", uids=[first["uid"]], chars=9, **report)
    log_in(home, page)
    hidden = {}
    for path in ("memory/?scope=kiln", "conflict/?q=kiln", f"auditentry/?q={first['uid']}"):
        page.goto(f"{service.url}{ADMIN}memories/{path}")
        assert page.locator("#result_list tbody tr").count()
        results = "document.querySelector('.results')"
        hidden[path] = page.evaluate(f"{results}.scrollWidth - {results}.clientWidth")
    assert set(hidden.values()) == {0}, hidden


@pytest.mark.parametrize(("size", "scheme"), [("wide", "light"), ("narrow", "dark")])
def test_axe_finds_nothing_serious(
    service: Service, page: Page, pages: dict[str, str], axe: str, scheme: str, size: str
) -> None:
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    page.set_viewport_size(SIZES[size])  # type: ignore[arg-type]
    found = [f"{name}: {wrong}" for name in opened(page, service, pages) for wrong in violations(page, axe)]
    page.context.clear_cookies()
    page.goto(f"{service.url}{ADMIN}login/")
    found += [f"login: {wrong}" for wrong in violations(page, axe)]
    assert not found, "\n".join(found)


def test_the_keyboard_shows_where_it_is(service: Service, page: Page, pages: dict[str, str]) -> None:
    page.goto(f"{service.url}{pages['dashboard']}")
    for _ in range(12):
        page.keyboard.press("Tab")
    outline = page.evaluate("getComputedStyle(document.activeElement).outline")
    assert "2px" in outline
    assert "none" not in outline
