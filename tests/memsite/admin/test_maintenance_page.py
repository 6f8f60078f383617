"""Maintenance from the admin: who may, behind which gate, in the background, one at a time."""

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from memories import lifecycle
from memories.models import Memory
from memsite import jobs, tasks
from memsite.env import beside
from tests.memsite.admin.conftest import logged_in
from tests.service import until

pytestmark = pytest.mark.django_db(transaction=True)
type Remembered = Callable[..., Memory]


@pytest.fixture(autouse=True)
def _own_folder(configure: Callable[..., None], tmp_path: Path) -> Iterator[None]:
    """State and copies beside a database of this test; no job outlives it."""
    configure(db_path=tmp_path / "memory.db")
    yield
    until(lambda: not (jobs.last() and jobs.last().is_running))


@pytest.fixture
def guarded(configure: Callable[..., None]) -> None:
    configure(token="secret")


def run(client: Client, task: str, **fields: Any) -> Any:
    return client.post(reverse("admin:maintenance"), {"task": task, **fields})


def ended() -> jobs.Job:
    def job() -> jobs.Job | None:
        last = jobs.last()
        return last if last and not last.is_running else None

    return until(job)


def test_a_purge_reports_what_went_and_that_it_is_scrubbed(browser: Client, guarded: None, remembered: Remembered):
    lifecycle.forget(remembered("The parrot is green.").uid, actor="me")
    page = browser.get(reverse("admin:maintenance")).content.decode()
    assert "1 forgotten and 0 expired memories would be removed now" in page
    assert run(browser, "purge", confirmed="yes").status_code == 302
    assert ended().report == "Removed 1 forgotten and 0 expired memories. scrubbed: true"
    assert not Memory.objects.exists()
    assert "scrubbed: true" in browser.get(reverse("admin:maintenance")).content.decode()


def test_a_purge_must_be_confirmed(browser: Client, guarded: None, remembered: Remembered):
    lifecycle.forget(remembered("The parrot is green.").uid, actor="me")
    response = run(browser, "purge")
    assert response.status_code == 422
    assert "tick that you mean it" in response.content.decode()
    assert Memory.objects.exists()


@pytest.mark.parametrize("task", ["purge", "backfill"])
def test_without_authentication_it_is_403(browser: Client, task: str):
    page = browser.get(reverse("admin:maintenance")).content.decode()
    assert f'value="{task}"' not in page
    assert "set MEMORY_TOKEN" in page
    response = run(browser, task, confirmed="yes")
    assert response.status_code == 403
    assert "set MEMORY_TOKEN" in response.content.decode()
    assert jobs.last() is None


@pytest.mark.parametrize("group", ["viewer", "curator"])
def test_other_groups_get_403(member: Callable[..., User], group: str, guarded: None):
    client = logged_in(member(group, "team"))
    assert client.get(reverse("admin:maintenance")).status_code == 403
    assert run(client, "backup").status_code == 403
    assert reverse("admin:maintenance") not in client.get(reverse("admin:index")).content.decode()


def test_a_backup_needs_the_group_only_and_is_private(member: Callable[..., User], tmp_path: Path):
    client = logged_in(member("owner"))
    assert run(client, "backup", file="/tmp/elsewhere.db").status_code == 302
    job = ended()
    assert (job.state, job.actor) == ("done", "a owner")
    (copy,) = (tmp_path / "backups").iterdir()
    assert str(copy) in job.report
    assert copy.stat().st_mode & 0o777 == 0o600
    assert copy.parent.stat().st_mode & 0o777 == 0o700


def test_the_page_does_not_wait_and_a_second_job_does_not_start(
    browser: Client, guarded: None, monkeypatch: pytest.MonkeyPatch
):
    go_on = threading.Event()

    def slow(_actor: str, progress: Callable[[int, int], None]) -> str:
        jobs.NOTED_EVERY_SECONDS = 0
        progress(3, 7)
        assert go_on.wait(30)
        return "done at last"

    monkeypatch.setattr(jobs, "NOTED_EVERY_SECONDS", 0)
    monkeypatch.setitem(tasks.TASKS, "backfill", tasks.Task("backfill", "Backfill vectors", "", slow, is_gated=True))
    assert run(browser, "backfill").status_code == 302
    until(lambda: jobs.last() and jobs.last().done)
    page = browser.get(reverse("admin:maintenance"))
    assert "3 of 7" in page.content.decode()
    assert page["Refresh"] == "2"
    second = run(browser, "backup")
    assert second.status_code == 409
    go_on.set()
    assert ended().report == "done at last"
    assert "Refresh" not in browser.get(reverse("admin:maintenance")).headers


def test_what_fails_is_reported_and_the_next_job_runs(
    browser: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setattr(lifecycle, "backup", lambda target: 1 / 0)
    run(browser, "backup")
    job = ended()
    assert job.state == "failed"
    assert "ZeroDivisionError" in job.report
    assert "ZeroDivisionError" in caplog.text
    monkeypatch.undo()


def test_a_job_that_ends_while_it_is_looked_at_is_not_interrupted(browser: Client, monkeypatch: pytest.MonkeyPatch):
    running = jobs.Job("purge", "owner", "2026-03-01T00:00:00+00:00")
    jobs._note(running)

    def ends() -> bool:
        jobs._note(replace(running, state="done", report="all of it"))
        return False

    monkeypatch.setattr(jobs, "_somebody_works", ends)
    assert jobs.last().report == "all of it"


def test_a_job_whose_process_died_is_interrupted_not_running(browser: Client):
    state = jobs.Job("purge", "owner", "2026-03-01T00:00:00+00:00")
    beside(settings.MEMORY.database, ".maintenance.json").write_text(json.dumps(vars(state)))
    assert jobs.last().state == "interrupted"
    page = browser.get(reverse("admin:maintenance"))
    assert "start it again" in page.content.decode()
    assert "Refresh" not in page.headers


def test_an_unknown_task_is_404(browser: Client):
    assert run(browser, "format the disk").status_code == 404


def test_memories_that_say_the_same_are_joined_and_the_report_says_how_to_undo_it(
    browser: Client, remembered: Remembered
):
    text = "The nightly backup of the shop database runs at two"
    for content in (f"{text}.", f"{text} in the night, as agreed."):
        remembered(content)
    assert run(browser, "consolidate").status_code == 302
    assert ended().report.startswith("Joined 2 memories in 1. To take it back: memory-mcp consolidate --undo ")
    assert Memory.objects.live().count() == 1
    run(browser, "consolidate")
    assert until(lambda: ended().report.startswith("Looked at 0 memories"))
