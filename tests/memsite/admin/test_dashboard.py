"""The first page of the admin: numbers, plot, lists, each with the way to the rows behind it."""

import re
from collections.abc import Callable
from datetime import timedelta
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from memories import clock, lifecycle
from memories.models import Candidate, Memory
from telemetry.models import InjectedMemory, Injection
from tests.memories.admin.pages import NASTY

pytestmark = pytest.mark.django_db
type Remembered = Callable[..., Memory]


def index(client: Client) -> str:
    response = client.get(reverse("admin:index"))
    assert response.status_code == 200
    return response.content.decode()


def number(client: Client, label: str) -> tuple[str, str]:
    """The value of a card or share, and its link."""
    response = client.get(reverse("admin:index"))
    board = response.context["dashboard"]
    every = [*board.cards, *(one for breakdown in board.breakdowns for one in breakdown.numbers)]
    found = next(one for one in every if one.label == label)
    assert re.search(rf'href="{re.escape(found.url)}"', unescape(response.content.decode()))
    return found.value, found.url


def rows(client: Client, url: str) -> int:
    response = client.get(url)
    assert response.status_code == 200, url
    return int(response.context["cl"].result_count)


def inject(*memories: Memory, **fields: Any) -> Injection:
    injection = Injection.objects.create(**{"scope": "default", "harness": "claude", "hook": "prompt", **fields})
    InjectedMemory.objects.bulk_create([InjectedMemory(injection=injection, memory_uid=one.uid) for one in memories])
    for one in memories:
        Memory.objects.filter(pk=one.pk).update(injection_count=one.injection_count + 1)
    return injection


def test_each_number_leads_to_as_many_rows(browser: Client, remembered: Remembered):
    old = remembered("the cap is 1k", project="acme/shop", kind="decision")
    remembered("the cap is 2k", supersedes=[old.uid])
    lifecycle.forget(remembered("nonsense", project="acme/shop").uid, actor="me")
    kept = remembered("the port is 80", project="acme/infra", kind="preference")
    inject(kept, chars=400)
    inject(kept, harness="codex", hook="start", at=clock.now() - timedelta(days=20))
    expected = {
        "live memories": 2,
        "never recalled": 1,
        "live": 2,
        "superseded": 1,
        "forgotten": 1,
        "expired": 0,
        "preference": 1,
        "acme/infra": 1,
        "injections, all": 2,
        "injections, 7 days": 1,
        "codex": 1,
        "start": 1,
        "pending reviews": 0,
    }
    for label, count in expected.items():
        value, url = number(browser, label)
        assert (value, rows(browser, url)) == (str(count), count), label


def test_pending_reviews_lead_to_the_queue(browser: Client, remembered: Remembered):
    remembered("The session store is Redis")
    remembered("The session store moved from Redis to Postgres")
    value, url = number(browser, "pending reviews")
    assert value == "1"
    assert rows(browser, url) == 1


def test_the_plot_counts_stores_and_injections_of_a_day(
    browser: Client, remembered: Remembered, freeze: Callable[[str], Any]
):
    freeze("2026-03-09T23:30:00+00:00")
    memory = remembered("yesterday, late")
    inject(memory, at=clock.now())
    freeze("2026-03-10T00:30:00+00:00")
    remembered("today, early")
    chart = browser.get(reverse("admin:index")).context["dashboard"].chart
    assert [(f"{day.on:%m-%d}", day.counts) for day in chart.days[-2:]] == [("03-09", (1, 1)), ("03-10", (1, 0))]
    html = unescape(index(browser))
    assert "<title" in html
    assert chart.description in html
    for url in re.findall(r'href="([^"]*__lt=2026-03-1[01]T00:00:00Z)"', html)[:4]:
        day = chart.days[-2] if "2026-03-09" in url else chart.days[-1]
        assert rows(browser, url) == day.counts[1 if "injection" in url else 0]


def test_lists_show_what_is_new_injected_unused_and_noise(browser: Client, remembered: Remembered):
    wrong = remembered("the office is in Rome", project="acme/shop")
    popular = remembered("the office is in Oslo, since May", project="acme/shop")
    inject(wrong, popular)
    popular.refresh_from_db()
    inject(popular)
    lifecycle.forget(wrong.uid, actor="me")
    lonely = remembered("nobody asks for this")
    board = browser.get(reverse("admin:index")).context["dashboard"]
    assert [one.uid for one in board.newest] == [lonely.uid, popular.uid]
    assert [(one.uid, one.injections) for one in board.most_injected] == [(popular.uid, 2)]
    assert [one.uid for one in board.unrecalled] == [lonely.uid]
    ((noise, url),) = board.noise
    assert (noise.project, noise.wrong, noise.injected) == ("acme/shop", 1, 2)
    assert rows(browser, url) == 1
    assert rows(browser, f"{reverse('admin:telemetry_injection_changelist')}?q={popular.uid}") == 2


def test_staff_see_the_scopes_of_their_grants_only(guest: Client, remembered: Remembered):
    inject(remembered("a secret plan", project="secret/project"), harness="secret-harness")
    mine = remembered("our plan", scope="team", project="team/project")
    inject(mine, scope="team")
    html = index(guest)
    assert "our plan" in html
    assert "secret" not in html
    assert number(guest, "live memories")[0] == "1"
    assert number(guest, "injections, all")[0] == "1"


def test_who_may_see_no_memories_gets_no_numbers(guest: Client, remembered: Remembered):
    remembered("our plan", scope="team")
    response_user = guest.get(reverse("admin:index")).context["user"]
    response_user.groups.clear()
    response = guest.get(reverse("admin:index"))
    assert response.context["dashboard"] is None
    assert "our plan" not in response.content.decode()


def test_staff_without_a_grant_see_nothing(guest: Client, remembered: Remembered):
    user = guest.get(reverse("admin:index")).context["user"]
    user.memory_grants.all().delete()
    remembered("a secret plan")
    assert "secret" not in index(guest)
    assert number(guest, "live memories")[0] == "0"


@pytest.mark.parametrize("count", [1, 60])
def test_the_page_costs_the_same_queries_however_many_memories(
    browser: Client, remembered: Remembered, count: int, django_assert_num_queries: Any
):
    for n in range(count):
        inject(remembered(f"memory number {n}", project=f"acme/p{n}", scope="default"), harness=f"h{n % 3}")
    with django_assert_num_queries(17):  # session, user, 15 for the numbers
        index(browser)


def test_stored_markup_is_text(browser: Client, remembered: Remembered):
    memory = remembered(f"{NASTY} words", project=NASTY, tags=[NASTY])
    inject(memory, harness=NASTY, hook=NASTY, project=NASTY, query=NASTY)
    html = index(browser)
    assert NASTY not in html
    assert "&lt;script&gt;" in html


def test_expired_artifacts_are_counted_apart_and_as_the_list_counts_them(
    browser: Client, remembered: Remembered, configure: Callable[..., None]
):
    remembered("captured output", kind="artifact", source="tool")
    Memory.objects.update(updated_at=clock.now() - timedelta(days=100))
    for days, live, expired in ((90, 0, 1), (0, 1, 0)):
        configure(ttl_artifact_days=days, ttl_compaction_days=0)
        for label, count in (("live", live), ("expired", expired)):
            value, url = number(browser, label)
            assert (value, rows(browser, url)) == (str(count), count)


def test_what_prompts_stated_is_counted_and_linked(browser: Client):
    Candidate.objects.create(scope="default", content="We always squash.")
    Candidate.objects.create(scope="default", content="We never squash.", state="dismissed")
    value, url = number(browser, "candidates")
    assert (value, rows(browser, url)) == ("1", 1)


def test_what_waits_in_the_spool_is_counted(browser: Client, configure: Callable[..., None], tmp_path: Path):
    configure(discovery_file=str(tmp_path / "memory.db.server.json"))
    assert "texts in the spool" not in index(browser)
    (tmp_path / "memory.db.spool.jsonl").write_text("{}\n{}\n")
    board = browser.get(reverse("admin:index")).context["dashboard"]
    assert next(card.value for card in board.cards if card.label == "texts in the spool") == "2"
