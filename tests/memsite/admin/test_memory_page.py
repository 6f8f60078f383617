"""What the page of a memory says beyond the memory itself."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from memories.models import Memory
from telemetry.injections import Report, report
from tests.memories.admin.pages import NASTY, page
from tests.memsite.admin.conftest import logged_in

pytestmark = pytest.mark.django_db


def inject(memory: Memory, **fields: Any) -> None:
    assert report(Report(scope=memory.scope, uids=[memory.uid], chars=10, **fields)) == 1


def test_its_injections_are_listed_the_last_ones_first(browser: Client, remembered: Callable[..., Memory]):
    memory = remembered("The parrot is green")
    for number in range(12):
        inject(memory, harness="claude", hook="prompt", query=f"query {number} {NASTY}")
    html = browser.get(page(memory)).content.decode()
    assert "query 11" in html
    assert "query 1 " not in html
    assert NASTY not in html
    assert "All 12 injections" in html
    every = browser.get(f"{reverse('admin:telemetry_injection_changelist')}?q={memory.uid}")
    assert every.context["cl"].result_count == 12


def test_injections_need_their_own_permission(member: Callable[..., User], remembered: Callable[..., Memory]):
    user = member("viewer", "team")
    memory = remembered("The parrot is green", scope="team")
    inject(memory, query="a private query")
    assert "a private query" in logged_in(user).get(page(memory)).content.decode()
    group = user.groups.get()
    group.permissions.remove(group.permissions.get(codename="view_injection"))
    html = logged_in(user).get(page(memory)).content.decode()
    assert "The parrot is green" in html
    assert "a private query" not in html
