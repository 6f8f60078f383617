"""Login by a one-time link."""

import logging

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from sesame.utils import get_query_string

pytestmark = pytest.mark.django_db


def test_the_login_page_says_how_to_get_a_link() -> None:
    assert "memory-mcp loginlink" in Client().get(reverse("admin:login")).content.decode()


def test_a_link_works_once(admin_user: User, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    link = reverse("admin:link") + get_query_string(admin_user)
    client = Client()
    first = client.get(link)
    assert first.status_code == 302
    assert first["Location"] == reverse("admin:index")
    assert client.get(reverse("admin:index")).status_code == 200
    second = Client().get(link)
    assert second.status_code == 403
    assert "memory-mcp loginlink" in second.content.decode()
    token = link.partition("=")[2]
    for response in (first, second):
        assert response["Referrer-Policy"] == "no-referrer"
        assert "no-store" in response["Cache-Control"]
        assert token not in response.content.decode()
    assert token not in caplog.text


def test_an_expired_link_is_refused(admin_user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    link = reverse("admin:link") + get_query_string(admin_user)
    monkeypatch.setattr("sesame.tokens_v2.time.time", lambda: 4_000_000_000)
    assert Client().get(link).status_code == 403


def test_a_head_request_does_not_use_the_link_up(admin_user: User) -> None:
    link = reverse("admin:link") + get_query_string(admin_user)
    assert Client().head(link).status_code == 405
    assert Client().get(link).status_code == 302


@pytest.mark.parametrize("query", ["", "?sesame=", "?sesame=nonsense"])
def test_a_broken_link_is_refused(query: str) -> None:
    assert Client().get(reverse("admin:link") + query).status_code == 403


def test_a_link_leads_nowhere_else(admin_user: User) -> None:
    link = reverse("admin:link") + get_query_string(admin_user)
    assert Client().get(f"{link}&next=https://evil.example/")["Location"] == reverse("admin:index")
