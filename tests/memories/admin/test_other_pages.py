"""Audit, tokens and grants, and what holds for every page."""

import re

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from memories.models import AccessToken, AuditEntry, Grant, Memory
from tests.memories.admin.pages import page, run, store

pytestmark = pytest.mark.django_db


class TestOtherPages:
    def test_audit_entries_cannot_be_changed(self, browser: Client) -> None:
        store("Port 80")
        entry = AuditEntry.objects.get()
        url = reverse("admin:memories_auditentry_change", args=[entry.pk])
        assert browser.get(url).status_code == 200
        assert browser.post(url, {"actor": "nobody"}).status_code == 403
        assert browser.post(reverse("admin:memories_auditentry_delete", args=[entry.pk])).status_code == 403

    def test_a_token_is_revoked_and_its_hash_is_never_shown(self, browser: Client) -> None:
        token = AccessToken.objects.create(name="laptop", token_hash="f00d" * 16, scopes=["team"])
        listed = reverse("admin:memories_accesstoken_changelist")
        changed = reverse("admin:memories_accesstoken_change", args=[token.pk])
        for url in (listed, changed):
            assert token.token_hash not in browser.get(url).content.decode()
        assert "memory-mcp token create" in browser.get(listed).content.decode()
        assert browser.get(reverse("admin:memories_accesstoken_add")).status_code == 403
        browser.post(listed, {"action": "revoke", "_selected_action": token.pk})
        token.refresh_from_db()
        assert token.revoked
        assert AuditEntry.objects.get(action="revoke").detail == {"token": "laptop"}

    def test_a_grant_keeps_a_cleaned_scope(self, browser: Client, staff: User) -> None:
        browser.post(reverse("admin:memories_grant_add"), {"user": staff.pk, "scope": " ops "})
        assert Grant.objects.filter(scope="ops").exists()

    def test_the_admin_log_holds_no_text(self, browser: Client) -> None:
        word = "xylophone"
        browser.post(reverse("admin:memories_memory_add"), {"content": word, "kind": "fact", "scope": "default"})
        memory = Memory.objects.get()
        run(browser, memory, "pin")
        browser.post(page(memory, "correct"), {"content": f"{word} two", "kind": "fact", "tags": word})
        browser.post(page(Memory.objects.live().get(), "forget"), {"post": "yes"})
        entries = LogEntry.objects.all()
        assert entries.count() == 4
        assert not [entry for entry in entries if word in entry.object_repr + entry.change_message]

    def test_no_page_has_inline_code_and_each_has_the_policy(self, browser: Client) -> None:
        memory = store("Port 80")
        token = AccessToken.objects.create(name="laptop", token_hash="f00d" * 16)
        names = ("change", "correct", "changed", "edit", "forget", "history")
        models = ("memory", "auditentry", "accesstoken", "grant", "projectalias")
        urls = [page(memory, name) for name in names]
        urls += [reverse(f"admin:memories_{model}_changelist") for model in models]
        urls += [reverse(f"admin:memories_{model}_add") for model in ("memory", "grant", "projectalias")]
        urls += [reverse("admin:memories_accesstoken_change", args=[token.pk]), reverse("admin:index")]
        bodies = {url: browser.get(url) for url in urls}
        bodies["login"] = Client().get(reverse("admin:login"))
        bodies["link"] = Client().get(reverse("admin:link"))
        for url, response in bodies.items():
            policy = response["Content-Security-Policy"]
            assert "unsafe" not in policy, url
            assert "script-src 'self'" in policy, url
            body = response.content.decode()
            assert not re.search(r">\s*nonce=", body), url
            assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:", body), url
            assert not re.search(r"<script(?![^>]*\ssrc=)(?![^>]*application/json)", body), url
            assert not re.search(r"""(?:src|href)=["'](?:https?:)?//""", body), url
