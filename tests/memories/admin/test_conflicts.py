"""The queue of contradictions in the admin."""

import re
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from memories.models import Conflict, Grant, Memory
from tests.memories.admin.pages import NASTY, page, run, said, store

pytestmark = pytest.mark.django_db

LIST = "/admin/memories/conflict/"


@pytest.fixture
def pair() -> Conflict:
    store(f"The session store is Redis {NASTY}", scope="team")
    store("The session store moved from Redis to Postgres", scope="team")
    return Conflict.objects.get()


def act(browser: Client, action: str, pair: Conflict) -> Any:
    return browser.post(LIST, {"action": action, "_selected_action": [pair.pk]}, follow=True)


def test_both_texts_stand_beside_each_other(browser: Client, pair: Conflict) -> None:
    html = browser.get(f"{LIST}{pair.pk}/change/").content.decode()
    assert "The session store is Redis" in html
    assert "moved from Redis to Postgres" in html
    assert NASTY not in html + browser.get(LIST).content.decode()


def test_a_pair_is_confirmed_and_undone(browser: Client, pair: Conflict) -> None:
    assert "1 pair is confirmed." in said(act(browser, "confirm", pair))
    pair.older.refresh_from_db()
    assert pair.older.superseded_by == pair.newer
    act(browser, "reject", pair)
    pair.older.refresh_from_db()
    assert pair.older.valid_to is None


def test_what_cannot_be_settled_is_said(browser: Client, pair: Conflict) -> None:
    store("The session store is a file", scope="team", supersedes=[pair.older.uid])
    assert "already superseded" in said(act(browser, "confirm", pair))


def test_staff_see_the_pairs_of_their_scopes_only(client: Client, staff: User, pair: Conflict) -> None:
    staff.user_permissions.add(*Permission.objects.filter(codename__in=["change_memory", "view_conflict"]))
    client.force_login(staff)
    Grant.objects.filter(user=staff).delete()
    assert client.get(f"{LIST}{pair.pk}/change/").status_code == 302
    act(client, "confirm", pair)
    assert Memory.objects.get(pk=pair.older.pk).valid_to is None
    Grant.objects.create(user=staff, scope="team")
    assert client.get(f"{LIST}{pair.pk}/change/").status_code == 200
    act(client, "confirm", pair)
    assert Memory.objects.get(pk=pair.older.pk).valid_to


def test_forgetting_the_newer_one_offers_to_restore_the_older_one(browser: Client, pair: Conflict) -> None:
    act(browser, "confirm", pair)
    answer = browser.post(page(pair.newer, "forget"), {"post": "yes"}, follow=True)
    assert pair.older.uid in said(answer)
    form = browser.get(page(pair.older)).context["action_form"]
    assert "restore" in dict(form.fields["action"].choices)
    run(browser, pair.older, "restore")
    assert Memory.objects.live().get() == pair.older


def test_dates_are_shown_as_iso(browser: Client, pair: Conflict) -> None:
    for path in (LIST, f"{LIST}{pair.pk}/change/"):
        html = browser.get(path).content.decode()
        assert f"{pair.created_at:%Y-%m-%d %H:%M}" in re.sub(r"</?span[^>]*>", "", html)
        assert not re.search(r"[ap]\.m\.", html)
