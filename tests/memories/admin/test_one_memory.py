"""The page of a memory, and the end of one or many."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from memories import clock, lifecycle
from memories.models import AuditEntry, Memory
from tests.memories.admin.pages import LIST, page, run, run_on, said, store

pytestmark = pytest.mark.django_db
HOSTILE = "</pre></script><script>alert(1)</script><img src=x onerror=alert(2)> {{ 7|add:7 }}"


class TestOneMemory:
    def test_its_page_shows_text_provenance_versions_and_audit(self, browser: Client) -> None:
        old = store("Port 80", session="session-7")
        new = store("Port 443", supersedes=[old.uid], correction=True)
        body = browser.get(page(old)).content.decode()
        for text in ("Port 80", "session-7", "never true", "correction", page(new), old.content_hash, "store"):
            assert text in body

    def test_its_page_cannot_save(self, browser: Client) -> None:
        memory = store("Port 80")
        assert browser.post(page(memory), {"content": "Port 81", "_save": "Save"}).status_code == 403
        assert 'name="_save"' not in browser.get(page(memory)).content.decode()

    def test_it_cannot_be_deleted(self, browser: Client) -> None:
        memory = store("Port 80")
        assert browser.post(page(memory, "delete"), {"post": "yes"}).status_code == 403
        assert "delete_selected" not in browser.get(reverse(LIST)).content.decode()

    def test_a_long_text_is_cut_and_linked_as_plain_text(self, browser: Client) -> None:
        memory = store("äöü 12345\n" * 200_000)
        response = browser.get(page(memory))
        assert len(response.content) < 100_000
        assert page(memory, "text") in response.content.decode()
        whole = browser.get(page(memory, "text"))
        assert whole.content.decode() == memory.content
        assert whole["Content-Type"] == "text/plain; charset=utf-8"
        assert whole["X-Content-Type-Options"] == "nosniff"

    def test_hostile_text_is_escaped_on_every_page(self, browser: Client) -> None:
        memory = store(HOSTILE, session="<b>session</b>", tags=["<i>tag</i>"], project="<u>project</u>")
        store(HOSTILE + " more", supersedes=[memory.uid])
        lists = [f"{reverse(LIST)}?state=all", f"{reverse(LIST)}?q=<script>alert(1)</script>"]
        forms = [page(memory, name) for name in ("change", "correct", "changed", "edit", "forget", "forget_chain")]
        for url in [*lists, *forms, reverse("admin:memories_auditentry_changelist")]:
            body = browser.get(url).content.decode()
            assert not re.search(r"<(script>|img src=x|b>session|i>tag|u>project)", body), url
            assert "alert(1)" not in re.sub(r"&lt;script&gt;alert\(1\)", "", body), url

    def test_a_uid_leads_to_its_page(self, browser: Client) -> None:
        memory = store("Port 80")
        assert browser.get(reverse("admin:memories_memory_by_uid", args=[memory.uid]))["Location"] == page(memory)
        response = browser.get(reverse("admin:memories_memory_by_uid", args=["0" * 32]), follow=True)
        assert "not here" in said(response)

    def test_only_actions_that_make_sense_are_offered(self, browser: Client) -> None:
        old = store("Port 80")
        live = store("Port 443", supersedes=[old.uid], pinned=True)
        gone = store("gone")
        lifecycle.forget(gone.uid, actor="test")

        def offered(memory: Memory) -> set[str]:
            form = browser.get(page(memory)).context["action_form"]
            return {value for value, _ in form.fields["action"].choices if value}

        assert offered(live) == {"correct", "changed", "edit", "unpin", "merge", "forget", "forget_chain"}
        assert offered(old) == {"edit", "pin", "forget", "forget_chain"}
        assert offered(gone) == {"restore"}


class TestEnding:
    def test_forgetting_asks_first(self, browser: Client) -> None:
        memory = store("Port 80")
        form = run(browser, memory, "forget", follow=True)
        assert form.redirect_chain == [(page(memory, "forget"), 302)]
        assert Memory.objects.live().exists()
        browser.post(page(memory, "forget"), {"post": "yes"})
        assert Memory.objects.forgotten().get() == memory
        assert AuditEntry.objects.get(action="forget").actor == "owner"

    def test_forgetting_with_earlier_versions_takes_them_all(self, browser: Client) -> None:
        old = store("Port 80")
        new = store("Port 443", supersedes=[old.uid])
        form = run(browser, new, "forget_chain", follow=True)
        assert "2 memories" in form.content.decode()
        browser.post(page(new, "forget_chain"), {"post": "yes"})
        assert set(Memory.objects.forgotten()) == {old, new}

    def test_forgetting_twice_is_a_message(self, browser: Client) -> None:
        memory = store("Port 80")
        lifecycle.forget(memory.uid, actor="test")
        assert "no memory" in said(browser.post(page(memory, "forget"), {"post": "yes"}, follow=True))

    def test_a_forgotten_memory_is_restored_from_its_page(self, browser: Client) -> None:
        memory = store("Port 80")
        lifecycle.forget(memory.uid, actor="test")
        assert "restored" in said(run(browser, memory, "restore", follow=True))
        assert Memory.objects.live().get() == memory

    def test_what_has_expired_can_be_kept_by_a_pin(self, browser: Client) -> None:
        memory = store("soon gone", ttl_seconds=60)
        Memory.objects.filter(pk=memory.pk).update(expires_at=memory.created_at)
        run(browser, memory, "pin")
        assert list(Memory.objects.current(clock.now())) == [memory]

    def test_pin_and_unpin(self, browser: Client) -> None:
        memory = store("Port 80")
        for action, pinned in (("pin", True), ("unpin", False)):
            run(browser, memory, action)
            memory.refresh_from_db()
            assert memory.pinned is pinned

    def test_a_selection_is_forgotten_after_a_confirmation(self, browser: Client) -> None:
        chosen, other = [store(f"chosen {number}") for number in range(3)], store("other")
        asked = run_on(browser, "forget_selected", chosen)
        assert "Forget 3 memories?" in asked.content.decode()
        assert Memory.objects.live().count() == 4
        done = run_on(browser, "forget_selected", chosen, post="yes")
        assert "3 memories" in said(done)
        assert Memory.objects.live().get() == other

    def test_a_selection_is_restored_after_a_confirmation(self, browser: Client) -> None:
        chosen = [store(f"chosen {number}") for number in range(3)]
        lifecycle.forget_all(Memory.objects.all(), actor="test")
        asked = run_on(browser, "restore_selected", chosen[:2])
        assert "Restore 2 memories?" in asked.content.decode()
        run_on(browser, "restore_selected", chosen[:2], post="yes")
        assert set(Memory.objects.live()) == set(chosen[:2])

    def test_everything_across_pages_is_forgotten_and_restored(self, browser: Client) -> None:
        rows = [
            Memory(scope="default", content=f"row {number}", content_hash=f"{number:064}") for number in range(1200)
        ]
        Memory.objects.bulk_create(rows)
        first = Memory.objects.first()
        assert first
        for action, left in (("forget_selected", 0), ("restore_selected", 1200)):
            asked = run_on(browser, action, [first], select_across="1")
            assert "1,200 memories" in asked.content.decode()
            hidden = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', asked.content.decode()))
            assert hidden["select_across"] == "1"
            run_on(browser, action, [first], select_across="1", post="yes")
            assert Memory.objects.live().count() == left

    def test_a_search_can_be_forgotten_as_a_whole(self, browser: Client) -> None:
        gone, kept = store("deploy on Friday"), store("something else")
        data = {"action": "forget_selected", "_selected_action": gone.pk, "select_across": "1", "post": "yes"}
        browser.post(reverse(LIST) + "?q=deploy", data)
        assert Memory.objects.live().get() == kept
