"""Pictures of the admin over 2,000 memories, by a real browser at the real service.

    python benchmarks/screenshots.py FOLDER [--memories 2000] [--model FILE.gguf] [--readme docs/dashboard.png]

Writes dashboard, list, memory, conflict, conflicts, playground and maintenance, each in light and dark, and the
dashboard and a memory as a telephone shows them. Needs Chromium and the `dev` extra.
"""

import argparse
import json
import secrets
import shutil
import subprocess
import sys
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Browser, Page, sync_playwright
from sayings import CHANGES, SEED, sayings
from service import COMMAND, Service, environment, running, temporary_database

ROOT = Path(__file__).resolve().parent.parent
FLAGS = ["--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--force-color-profile=srgb"]
DESKTOP, TELEPHONE = (1280, 900), (390, 844)
PICTURE_BYTES = 200_000
"""Largest picture for the README."""
QUESTION = "how often does the checkout worker retry before a job is parked?"

FILL = """
import json, random, sys
from datetime import datetime, timedelta
import django
django.setup()
from memories import clock, lifecycle
from memories.models import Conflict, Memory
from memories.remember import Draft, remember
from telemetry.injections import Report, report
from telemetry.sessions import next_prompt

given = json.load(open(sys.argv[1], encoding="utf-8"))
chance = random.Random(given["seed"])
kept = []
for one in given["sayings"]:
    at = datetime.fromisoformat(one.pop("at"))
    clock.now = lambda: at
    source = "tool" if one["kind"] == "artifact" else "mcp"
    kept.append((remember(Draft(source=source, actor=one["harness"], **one)).uid, one))
    if chance.random() < 0.35:
        some = chance.sample(kept, min(4, len(kept)))
        uids = [uid for uid, other in some if other["project"] in (one["project"], "")]
        favourite = [uid for uid, other in kept[:40] if other["project"] == one["project"]][:3]
        place = {"scope": "default", "harness": one["harness"], "session": one["session"]}
        next_prompt(**place)
        report(Report(**place, hook=chance.choice(["UserPromptSubmit"] * 4 + ["SessionStart"]), project=one["project"],
                      query=one["content"][:60], uids=[*uids, *favourite], chars=chance.randrange(300, 1900)))
Conflict.objects.all().delete()  # sentences from one mould differ in a number: the queue is for those that follow
now = datetime.fromisoformat(given["now"])
for number, (older, newer) in enumerate(given["changes"]):
    for days, text in ((20 - number, older), (number / 3, newer)):
        clock.now = lambda: now - timedelta(days=days)
        uid = remember(Draft(content=text, project="acme/shop", source="chat", actor="ann", tags=["operations"])).uid
chain = ()
for days, text in ((30, "600 requests a minute a token"), (11, "900 requests a minute a token"),
                   (0, "900 requests a minute a token, and 50 a second")):
    clock.now = lambda: now - timedelta(days=days)
    text = f"The API of the shop allows {text}."
    place = {"harness": "claude", "session": "shop-limits"}
    chain = (remember(Draft(content=text, project="acme/shop", source="mcp", actor="claude", tags=["api", "limits"],
                            supersedes=chain, **place)).uid,)
    report(Report(scope="default", **place, hook="UserPromptSubmit", project="acme/shop", query="rate limits",
                  uids=chain, chars=240))
clock.now = lambda: now
wrong = list(Memory.objects.filter(injection_count__gt=0).order_by("pk").values_list("uid", flat=True)[5:400:9])
for uid in wrong:
    lifecycle.forget(uid, actor="owner")
told = [pk for pk in Memory.objects.values_list("pk", flat=True) if pk % 3]
Memory.objects.filter(pk__in=told).update(access_count=2)
"""


def fill(database: Path, count: int, settings: dict[str, str]) -> None:
    now = datetime.now(UTC)
    told = [{**asdict(one), "at": one.at.isoformat()} for one in sayings(count, until=now)]
    with TemporaryDirectory(prefix="memory-pictures-") as folder:
        given = Path(folder) / "given.json"
        given.write_text(json.dumps({"seed": SEED, "sayings": told, "changes": CHANGES, "now": now.isoformat()}))
        variables = {"DJANGO_SETTINGS_MODULE": "memsite.settings", "PYTHONPATH": str(ROOT), **settings}
        subprocess.run(
            [sys.executable, "-c", FILL, str(given)],
            env=environment(database, home=Path(folder), settings=variables),
            cwd=folder,
            check=True,
        )


def login_link(service: Service) -> str:
    with TemporaryDirectory(prefix="memory-pictures-") as home:
        answer = subprocess.run(
            [*COMMAND, "loginlink"],
            env=environment(service.database, home=Path(home)),
            capture_output=True,
            text=True,
            check=True,
        )
    return answer.stdout.strip()


class Camera:
    def __init__(self, page: Page, service: Service, folder: Path, suffix: str) -> None:
        self.page, self.admin, self.folder, self.suffix = page, f"{service.url}/admin", folder, suffix

    def shoot(self, name: str, *, whole: bool = False) -> Path:
        path = self.folder / f"{name}-{self.suffix}.png"
        self.page.wait_for_load_state("networkidle")
        self.page.screenshot(path=path, full_page=whole, animations="disabled")
        return path

    def dashboard(self) -> None:
        self.page.goto(f"{self.admin}/")
        self.shoot("dashboard")
        self.shoot("dashboard-whole", whole=True)

    def lists(self) -> None:
        self.page.goto(f"{self.admin}/memories/memory/")
        self.shoot("list")
        self.page.goto(f"{self.admin}/memories/conflict/?verdict__exact=pending")
        self.shoot("conflicts")
        self.page.locator("#result_list tbody th a").first.click()
        self.shoot("conflict", whole=True)

    def memory(self) -> None:
        self.page.goto(f"{self.admin}/memories/memory/?q=requests+a+minute")
        self.page.locator("#result_list tbody th a").first.click()
        self.shoot("memory", whole=True)

    def tools(self) -> None:
        self.page.goto(f"{self.admin}/playground/")
        self.page.get_by_label("Query").fill(QUESTION)
        self.page.get_by_role("button", name="Recall").click()
        self.shoot("playground", whole=True)
        self.page.goto(f"{self.admin}/maintenance/")
        self.shoot("maintenance")


def photograph(browser: Browser, service: Service, folder: Path) -> None:
    for scheme in ("light", "dark"):
        for size, suffix in ((DESKTOP, scheme), (TELEPHONE, f"{scheme}-390")):
            width, height = size
            context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
            page = context.new_page()
            page.goto(login_link(service))
            camera = Camera(page, service, folder, suffix)
            for step in (camera.dashboard, camera.lists, camera.memory, camera.tools):
                step()
            context.close()


def publish(picture: Path, target: Path) -> None:
    size = picture.stat().st_size
    if size > PICTURE_BYTES:
        raise SystemExit(f"{picture} has {size:,} bytes; the README takes {PICTURE_BYTES:,}.")
    shutil.copyfile(picture, target)
    print(f"{target}: {size:,} bytes")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--memories", type=int, default=2000)
    parser.add_argument("--model", type=Path, help="a GGUF embedding model; without one there are only keywords")
    parser.add_argument("--readme", type=Path, help="also write the dashboard here")
    options = parser.parse_args()
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    settings = {"MEMORY_TOKEN": secrets.token_hex(), "MEMORY_MAINTENANCE_ON_START": "0"}
    if options.model:
        settings["MEMORY_MODEL_PATH"] = str(options.model.absolute())
    options.folder.mkdir(parents=True, exist_ok=True)
    with temporary_database() as database:
        with running(database, settings=settings):
            pass  # makes the tables
        fill(database, options.memories, settings)
        with running(database, settings=settings) as service, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
            photograph(browser, service, options.folder)
            browser.close()
    if options.readme:
        publish(options.folder / "dashboard-light.png", options.readme)
    print(f"{len(list(options.folder.glob('*.png')))} pictures in {options.folder}")


if __name__ == "__main__":
    main()
