"""Texts that are added or replaced at the admin."""

from typing import ClassVar

import pytest
from django.test import Client
from django.urls import reverse

from memories.models import AuditEntry, Memory
from tests.memories.admin.pages import page, run, said, store

pytestmark = pytest.mark.django_db


class TestAdding:
    DATA: ClassVar = {"content": "We deploy on Fridays", "kind": "decision", "scope": "default"}

    def test_a_memory_is_added_through_the_write_path(self, browser: Client) -> None:
        data = {**self.DATA, "project": "acme/shop", "tags": "a, b c,,a", "pinned": "on", "ttl_seconds": "60"}
        response = browser.post(reverse("admin:memories_memory_add"), {**data, "valid_from": "2026-01-02"}, follow=True)
        memory = Memory.objects.get()
        assert response.redirect_chain == [(page(memory), 302)]
        assert (memory.kind, memory.project, memory.tags) == ("decision", "acme/shop", ["a", "b c"])
        assert (memory.pinned, memory.tier, memory.source, memory.actor) == (True, "working", "admin", "owner")
        assert memory.valid_from.isoformat() == "2026-01-02T00:00:00+00:00"
        assert AuditEntry.objects.get(action="store").actor == "owner"

    def test_a_text_that_is_kept_already_leads_to_its_memory(self, browser: Client) -> None:
        first = store(self.DATA["content"])
        response = browser.post(reverse("admin:memories_memory_add"), self.DATA, follow=True)
        assert response.redirect_chain == [(page(first), 302)]
        assert "kept already" in said(response)
        assert Memory.objects.count() == 1

    def test_a_redacted_secret_is_told_and_not_kept(self, browser: Client) -> None:
        secret = "AKIA" + "Q3EXAMPLEKEYZ7AB"
        data = {**self.DATA, "content": f"The key is {secret}."}
        response = browser.post(reverse("admin:memories_memory_add"), data, follow=True)
        assert "redacted" in said(response)
        assert secret not in Memory.objects.get().content
        assert secret not in response.content.decode()

    @pytest.mark.parametrize(
        "wrong",
        [
            {"content": " \n <semantic-memory>x</semantic-memory>"},
            {"content": ""},
            {"valid_from": "yesterday"},
            {"valid_from": "2999-01-01"},
            {"valid_from": "2026-01-01T10:00:00"},
            {"ttl_seconds": "-1"},
            {"ttl_seconds": "soon"},
            {"project": "x" * 201},
            {"tags": ",".join(map(str, range(51)))},
            {"kind": "nonsense"},
            {"scope": ""},
            {"content": "x" * 2_000_001},
        ],
    )
    def test_what_the_domain_refuses_is_an_error_of_the_form(self, browser: Client, wrong: dict[str, str]) -> None:
        response = browser.post(reverse("admin:memories_memory_add"), {**self.DATA, **wrong})
        assert response.status_code == 200
        assert response.context["adminform"].form.errors
        assert "errornote" in response.content.decode()
        assert not Memory.objects.exists()


class TestReplacing:
    @pytest.mark.parametrize(("action", "reason"), [("correct", "correction"), ("changed", "edit")])
    def test_the_old_text_is_superseded(self, browser: Client, action: str, reason: str) -> None:
        old = store("Port 80", tags=["net", "a,b"], kind="decision", project="acme/shop", scope="team")
        form = run(browser, old, action, follow=True)
        assert form.redirect_chain == [(page(old, action), 302)]
        assert "Port 80</textarea>" in form.content.decode()
        data = {"content": "Port 443", "kind": "decision", "tags": "net, a,b"}
        response = browser.post(page(old, action), data, follow=True)
        new = Memory.objects.live().get()
        old.refresh_from_db()
        assert response.redirect_chain == [(page(new), 302)]
        assert (new.content, new.tags, new.kind) == ("Port 443", ["net", "a,b"], "decision")
        assert (new.project, new.scope, new.source, new.actor) == ("acme/shop", "team", "admin", "owner")
        assert (old.superseded_by, old.superseded_reason) == (new, reason)
        assert (old.valid_to == old.valid_from) is (action == "correct")

    def test_new_tags_and_kind_are_taken(self, browser: Client) -> None:
        old = store("Port 80", tags=["net"])
        browser.post(page(old, "correct"), {"content": "Port 443", "kind": "preference", "tags": "x,y"})
        new = Memory.objects.live().get()
        assert (new.tags, new.kind) == (["x", "y"], "preference")

    def test_what_was_replaced_meanwhile_is_an_error_of_the_form(self, browser: Client) -> None:
        old = store("Port 80")
        store("Port 81", supersedes=[old.uid])
        response = browser.post(page(old, "correct"), {"content": "Port 443", "kind": "fact", "tags": ""})
        assert response.context["adminform"].form.non_field_errors()
        assert Memory.objects.live().get().content == "Port 81"

    def test_the_same_text_again_supersedes_nothing(self, browser: Client) -> None:
        old = store("Port 80")
        response = browser.post(page(old, "changed"), {"content": "Port 80", "kind": "fact", "tags": ""}, follow=True)
        assert response.redirect_chain == [(page(old), 302)]
        assert "kept already" in said(response)

    def test_kind_tags_and_project_are_edited_in_place(self, browser: Client) -> None:
        memory = store("Port 80", tags=["net"])
        browser.post(page(memory, "edit"), {"kind": "decision", "tags": "a,b", "project": "acme/shop"})
        memory.refresh_from_db()
        assert (memory.kind, memory.tags, memory.project) == ("decision", ["a", "b"], "acme/shop")
        again = browser.post(page(memory, "edit"), {"kind": "decision", "tags": "a, b", "project": "acme/shop"})
        assert again.context["adminform"].form.non_field_errors()
