"""Injections and sessions in the admin."""

from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse

from memories.models import Grant
from telemetry.models import HarnessSession, InjectedMemory, Injection

pytestmark = pytest.mark.django_db

INJECTIONS = "admin:telemetry_injection_changelist"
SESSIONS = "admin:telemetry_harnesssession_changelist"
UID = "ab" * 16


def inject(**fields: Any) -> Injection:
    injection = Injection.objects.create(**{"scope": "default", "harness": "claude", "hook": "prompt", **fields})
    InjectedMemory.objects.create(injection=injection, memory_uid=UID)
    return injection


@pytest.fixture
def browser(admin_user: User) -> Client:
    client = Client()
    client.force_login(admin_user)
    return client


def test_an_injection_links_to_its_memories(browser: Client) -> None:
    injection = inject(query="<script>alert(1)</script>")
    body = browser.get(reverse("admin:telemetry_injection_change", args=[injection.pk])).content.decode()
    assert reverse("admin:memories_memory_by_uid", args=[UID]) in body
    assert "<script>alert" not in body


@pytest.mark.parametrize("name", ["harness", "hook", "project"])
def test_injections_are_filtered(browser: Client, name: str) -> None:
    kept = inject(**{name: "kept"})
    inject()
    found = browser.get(reverse(INJECTIONS), {name: "kept"}).context["cl"].result_list
    assert [row.pk for row in found] == [kept.pk]


@pytest.mark.parametrize("rows", [2, 60])
def test_the_list_costs_the_same_queries_however_many_rows(
    browser: Client, rows: int, django_assert_num_queries: Any
) -> None:
    for number in range(rows):
        inject(project=f"project {number % 2}")
    with django_assert_num_queries(7):  # session, user, three filters, count, rows
        assert browser.get(reverse(INJECTIONS)).status_code == 200


def test_nothing_can_be_changed(browser: Client) -> None:
    rows = [inject(), HarnessSession.objects.create(scope="default", session="s")]
    for row in rows:
        name = f"admin:telemetry_{row._meta.model_name}"
        assert browser.get(reverse(f"{name}_change", args=[row.pk])).status_code == 200
        assert browser.post(reverse(f"{name}_change", args=[row.pk]), {"scope": "x"}).status_code == 403
        assert browser.post(reverse(f"{name}_delete", args=[row.pk]), {"post": "yes"}).status_code == 403
        assert browser.get(reverse(f"{name}_add")).status_code == 403


def test_staff_see_only_the_scopes_of_their_grants() -> None:
    user = User.objects.create_user("staff", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(content_type__app_label="telemetry"))
    Grant.objects.create(user=user, scope="team")
    client = Client()
    client.force_login(user)
    mine, foreign = inject(scope="team"), inject(scope="other", project="foreign/project")
    HarnessSession.objects.create(scope="other", session="foreign session")
    assert [row.pk for row in client.get(reverse(INJECTIONS)).context["cl"].result_list] == [mine.pk]
    assert "foreign" not in client.get(reverse(INJECTIONS)).content.decode()
    assert "foreign" not in client.get(reverse(SESSIONS)).content.decode()
    assert client.get(reverse("admin:telemetry_injection_change", args=[foreign.pk])).status_code == 302
