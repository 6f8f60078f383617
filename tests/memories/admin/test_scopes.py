"""What staff see and do in the scopes of their grants."""

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse

from memories.models import Grant, Memory, ProjectAlias
from tests.memories.admin.pages import LIST, page, run, run_on, said, shown, store

pytestmark = pytest.mark.django_db


class TestScopes:
    def test_staff_see_only_the_scopes_of_their_grants(self, staff_browser: Client) -> None:
        mine, foreign = store("deploy with care", scope="team"), store("deploy in secret", scope="other")
        for query in ({}, {"state": "all"}, {"q": "deploy"}, {"scope": "other", "q": "deploy"}, {"q": foreign.uid}):
            assert foreign.uid not in shown(staff_browser.get(reverse(LIST), query))
        assert shown(staff_browser.get(reverse(LIST))) == [mine.uid]
        listed = staff_browser.get(reverse(LIST)).content.decode()
        assert "scope=other" not in listed
        audit = staff_browser.get(reverse("admin:memories_auditentry_changelist")).content.decode()
        assert mine.uid in audit
        assert foreign.uid not in audit

    @pytest.mark.parametrize("name", ["text", "correct", "changed", "edit", "forget", "forget_chain"])
    def test_staff_reach_no_page_of_a_foreign_memory(self, staff_browser: Client, name: str) -> None:
        foreign = store("in secret", scope="other")
        assert staff_browser.get(page(foreign, name)).status_code == 404
        assert staff_browser.post(page(foreign, name), {"content": "x", "kind": "fact"}).status_code == 404
        assert Memory.objects.live().get().content == "in secret"

    def test_staff_cannot_open_or_act_on_a_foreign_memory(self, staff_browser: Client) -> None:
        foreign = store("in secret", scope="other")
        assert staff_browser.get(page(foreign)).status_code == 302
        assert staff_browser.get(page(foreign, "history")).status_code == 302
        by_uid = reverse("admin:memories_memory_by_uid", args=[foreign.uid])
        assert "not here" in said(staff_browser.get(by_uid, follow=True))
        run(staff_browser, foreign, "pin")
        run_on(staff_browser, "forget_selected", [foreign], post="yes")
        run_on(staff_browser, "forget_selected", [foreign], post="yes", select_across="1")
        assert Memory.objects.live().get().pinned is False

    def test_staff_add_only_in_granted_scopes(self, staff_browser: Client, staff: User) -> None:
        add = reverse("admin:memories_memory_add")
        refused = staff_browser.post(add, {"content": "x", "kind": "fact", "scope": "other"})
        assert refused.context["adminform"].form.errors["scope"]
        staff_browser.post(add, {"content": "x", "kind": "fact", "scope": "team"})
        assert Memory.objects.get().scope == "team"
        Grant.objects.all().delete()
        assert staff_browser.get(add).status_code == 403

    def test_staff_without_the_permission_to_change_can_only_look(self, staff_browser: Client, staff: User) -> None:
        staff.user_permissions.set(Permission.objects.filter(codename="view_memory"))
        memory = store("Port 80", scope="team")
        assert staff_browser.get(page(memory)).status_code == 200
        assert staff_browser.get(page(memory, "text")).status_code == 200
        for name in ("correct", "changed", "edit", "forget", "forget_chain"):
            assert staff_browser.post(page(memory, name), {"content": "x", "kind": "fact"}).status_code == 403
        run_on(staff_browser, "forget_selected", [memory], post="yes")
        assert Memory.objects.live().get() == memory

    def test_staff_have_no_access_to_tokens_and_grants(self, staff_browser: Client) -> None:
        for model in ("accesstoken", "grant"):
            assert staff_browser.get(reverse(f"admin:memories_{model}_changelist")).status_code == 403
            assert staff_browser.get(reverse(f"admin:memories_{model}_add")).status_code == 403

    def test_staff_set_aliases_in_granted_scopes_only(self, staff_browser: Client) -> None:
        add = reverse("admin:memories_projectalias_add")
        data = {"alias": " old ", "project": "acme/shop"}
        assert staff_browser.post(add, {**data, "scope": "other"}).status_code == 200
        assert staff_browser.post(add, {**data, "scope": "team"}).status_code == 302
        assert ProjectAlias.objects.get().alias == "old"
