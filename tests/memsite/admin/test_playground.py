"""Asking like an agent, with the reasons."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from memories import accesses
from memories.models import AuditEntry, Memory
from telemetry.models import HarnessSession, Injection
from tests.memories.admin.pages import NASTY
from tests.memsite.admin.conftest import logged_in

pytestmark = pytest.mark.django_db
type Remembered = Callable[..., Memory]


def ask(client: Client, query: str, **fields: Any) -> Any:
    given = {"query": query, "mode": "inject", "scope": "default", "limit": 5, "budget_chars": 2000, **fields}
    return client.post(reverse("admin:playground"), given)


def fates(response: Any) -> dict[str, str]:
    return {row.text: row.fate for row in response.context["rows"]}


def test_the_block_is_what_an_agent_would_get(browser: Client, remembered: Remembered):
    remembered("The deploy key rotates every 30 days")
    response = ask(browser, "when does the deploy key rotate")
    assert "- [fact, " in response.context["examined"].answer.block.text
    assert "&lt;semantic-memory&gt;" in response.content.decode()


def test_what_is_not_relevant_enough_is_listed_with_its_relevance(browser: Client, remembered: Remembered):
    remembered("The deploy key rotates every 30 days")
    remembered("The key of the piano is out of tune")
    found = ask(browser, "when does the deploy key rotate")
    told = fates(found)
    assert told["The deploy key rotates every 30 days"] == "in the block"
    assert told["The key of the piano is out of tune"] == "below the gate"
    assert found.context["examined"].answer.withheld.below_relevance == 1
    row = found.context["rows"][0]
    assert [channel.rank for channel in row.channels] == [1]
    assert row.coverage > 0.5


def test_limit_budget_and_twins_are_told_apart(browser: Client, remembered: Remembered):
    for n, word in enumerate(("alpha", "beta", "gamma")):
        remembered(f"The deploy key {word} rotates every {n + 3}0 days")
    remembered("the deploy KEY alpha rotates every 30 days.", project="acme/shop")
    assert sorted(fates(ask(browser, "the deploy key rotates", limit=2)).values()) == [
        "in the block",
        "in the block",
        "over the limit",
        "said by a newer one",
    ]
    assert set(fates(ask(browser, "the deploy key rotates", budget_chars=10)).values()) == {"over the budget"}


def test_search_has_no_gate(browser: Client, remembered: Remembered):
    remembered("The key of the piano is out of tune")
    assert list(fates(ask(browser, "the deploy key rotates", mode="search")).values()) == ["in the block"]


def test_looking_counts_and_records_nothing(browser: Client, remembered: Remembered):
    accesses.keep()  # what other tests noted
    remembered("The deploy key rotates every 30 days")
    audited = AuditEntry.objects.count()
    assert fates(ask(browser, "when does the deploy key rotate"))
    assert accesses.keep() == 0
    assert Memory.objects.get().access_count == 0
    assert AuditEntry.objects.count() == audited
    assert not Injection.objects.exists()
    assert not HarnessSession.objects.exists()


def test_the_past_can_be_asked(browser: Client, remembered: Remembered):
    old = remembered("The session cap is 1k", valid_from="2026-01-01")
    remembered("The session cap is 2k", supersedes=[old.uid], valid_from="2026-02-01")
    assert list(fates(ask(browser, "session cap", as_of="2026-01-15"))) == ["The session cap is 1k"]


@pytest.mark.parametrize(
    "fields", [{"as_of": "nonsense"}, {"limit": 500}, {"budget_chars": -1}, {"mode": "x"}, {"query": ""}]
)
def test_bad_input_is_said_on_the_form(browser: Client, fields: dict[str, Any]):
    response = ask(browser, **{"query": "key", **fields})
    assert response.status_code == 200
    assert response.context["form"].errors
    assert response.context["examined"] is None


def test_staff_ask_in_their_scopes_only(guest: Client, remembered: Remembered):
    remembered("a secret deploy key")
    remembered("our deploy key", scope="team")
    assert ask(guest, "deploy key").context["form"].errors["scope"]
    assert list(fates(ask(guest, "deploy key", scope="team"))) == ["our deploy key"]


def test_who_may_see_no_memories_may_not_ask(db: None):
    user = User.objects.create_user("staff", is_staff=True)
    assert logged_in(user).get(reverse("admin:playground")).status_code == 403
    assert Client().get(reverse("admin:playground")).status_code == 302


def test_stored_markup_is_text(browser: Client, remembered: Remembered):
    remembered(f"{NASTY} deploy key", project=NASTY)
    html = ask(browser, f"{NASTY} deploy key").content.decode()
    assert NASTY not in html
    assert "alert(1)" in html
