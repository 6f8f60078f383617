"""What was stated in prompts, as a person settles it."""

from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse

from memories import candidates
from memories.models import Candidate, Memory
from tests.memories.admin.pages import said

pytestmark = pytest.mark.django_db
LIST = "admin:memories_candidate_changelist"


def propose(content: str, scope: str = "team") -> Candidate:
    candidate = candidates.propose(content, scope=scope)
    assert candidate
    return candidate


def settle(client: Client, action: str, *chosen: Candidate) -> Any:
    data = {"action": action, "_selected_action": [one.pk for one in chosen]}
    return client.post(reverse(LIST), data, follow=True)


def listed(client: Client, **query: str) -> list[int]:
    return [row.pk for row in client.get(reverse(LIST), query).context["cl"].result_list]


def test_what_is_accepted_is_remembered_and_leaves_the_list(browser: Client) -> None:
    first, second = propose("We decided to use Postgres."), propose("I prefer tabs.")
    assert listed(browser) == [second.pk, first.pk]
    assert "accepted: 1" in said(settle(browser, "accept", first))
    assert Memory.objects.get().content == "We decided to use Postgres."
    assert listed(browser) == [second.pk]
    assert listed(browser, state="accepted") == [first.pk]


def test_what_is_dismissed_leaves_no_text(browser: Client) -> None:
    candidate = propose("We decided to use Postgres.")
    assert "dismissed: 1" in said(settle(browser, "dismiss", candidate))
    assert not Memory.objects.exists()
    assert listed(browser) == []
    assert "Postgres" not in browser.get(reverse(LIST), {"state": "dismissed"}).content.decode()


def test_one_is_settled_from_its_own_page_too(browser: Client) -> None:
    candidate = propose("We decided to use <b>Postgres</b>.")
    page = reverse("admin:memories_candidate_change", args=[candidate.pk])
    assert "&lt;b&gt;Postgres" in browser.get(page).content.decode()
    browser.post(page, {"CHANGE_FORM-action": "accept", "_selected_action": candidate.pk})
    assert Memory.objects.exists()


def test_staff_settle_only_what_is_in_their_scopes(staff_browser: Client, staff: User) -> None:
    mine, foreign = propose("We decided to use Postgres."), propose("We chose Oracle.", scope="other")
    assert listed(staff_browser) == [mine.pk]
    settle(staff_browser, "accept", mine, foreign)
    assert [memory.scope for memory in Memory.objects.all()] == ["team"]
    foreign.refresh_from_db()
    assert foreign.state == "waiting"
    assert staff_browser.get(reverse("admin:memories_candidate_change", args=[foreign.pk])).status_code == 302


def test_staff_who_may_only_look_settle_nothing(staff_browser: Client, staff: User) -> None:
    staff.user_permissions.set(Permission.objects.filter(codename="view_candidate"))
    candidate = propose("We decided to use Postgres.")
    assert listed(staff_browser) == [candidate.pk]
    settle(staff_browser, "accept", candidate)
    assert not Memory.objects.exists()
