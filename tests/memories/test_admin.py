"""The memory pages of the admin, through Django's test client."""

import re
from typing import Any, ClassVar

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.core.cache import cache
from django.test import Client
from django.urls import reverse

from memories import lifecycle
from memories.draft import Draft
from memories.models import AccessToken, AuditEntry, Grant, Memory, ProjectAlias
from memories.recall import Question, recall
from memories.remember import remember

pytestmark = pytest.mark.django_db

LIST = "admin:memories_memory_changelist"
HOSTILE = "</pre></script><script>alert(1)</script><img src=x onerror=alert(2)> {{ 7|add:7 }}"


@pytest.fixture
def owner() -> User:
    return User.objects.create_superuser("owner", password="secret")


@pytest.fixture
def browser(owner: User) -> Client:
    cache.clear()
    client = Client()
    client.force_login(owner)
    return client


@pytest.fixture
def staff() -> User:
    """May do everything with memories, in the scope `team` only."""
    user = User.objects.create_user("staff", password="secret", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(content_type__app_label="memories"))
    Grant.objects.create(user=user, scope="team")
    return user


@pytest.fixture
def staff_browser(staff: User) -> Client:
    client = Client()
    client.force_login(staff)
    return client


def store(content: str, **fields: Any) -> Memory:
    return Memory.objects.get(uid=remember(Draft(content=content, **fields)).uid)


def page(memory: Memory, name: str = "change") -> str:
    return reverse(f"admin:memories_memory_{name}", args=[memory.pk])


def shown(response: Any) -> list[str]:
    """The uids of the rows of a list."""
    return [row.uid for row in response.context["cl"].result_list]


def run(client: Client, memory: Memory, action: str, **options: Any) -> Any:
    data = {"CHANGE_FORM-action": action, "_selected_action": memory.pk}
    return client.post(page(memory), data, **options)


def run_on(client: Client, action: str, memories: list[Memory], **data: Any) -> Any:
    selected = {"action": action, "_selected_action": [memory.pk for memory in memories], **data}
    return client.post(reverse(LIST) + "?state=all", selected, follow=True)


def said(response: Any) -> str:
    return " ".join(str(message) for message in response.context["messages"])


class TestList:
    def test_the_newest_memory_comes_first(self, browser: Client) -> None:
        first, second = store("the first one"), store("the second one")
        assert shown(browser.get(reverse(LIST))) == [second.uid, first.uid]

    def test_a_long_text_is_cut_to_its_opening(self, browser: Client) -> None:
        store("word " * 1000)
        row = browser.get(reverse(LIST)).content.decode()
        texts = re.findall(r'field-text"><a [^>]*>([^<]*)<', row)
        assert len(texts) == 1
        assert len(texts[0]) <= 120
        assert texts[0].endswith("…")

    @pytest.mark.parametrize(
        ("state", "expected"),
        [
            ("", "live"),
            ("live", "live"),
            ("nonsense", "live"),
            ("forgotten", "forgotten"),
            ("superseded", "superseded"),
            ("expired", "expired"),
        ],
    )
    def test_only_the_chosen_state_is_listed(self, browser: Client, state: str, expected: str) -> None:
        everything = {"forgotten": store("forgotten one"), "superseded": store("old one")}
        everything["live"] = store("new one", supersedes=[everything["superseded"].uid])
        everything["expired"] = store("expired one", ttl_seconds=60)
        lifecycle.forget(everything["forgotten"].uid, actor="test")
        Memory.objects.filter(pk=everything["expired"].pk).update(expires_at=everything["expired"].created_at)
        response = browser.get(reverse(LIST), {"state": state} if state else {})
        assert shown(response) == [everything[expected].uid]
        assert [row.state for row in response.context["cl"].result_list] == [expected]
        assert len(shown(browser.get(reverse(LIST), {"state": "all"}))) == 4

    def test_filters_narrow_the_list(self, browser: Client) -> None:
        kept = store("kept", scope="team", project="acme/shop", kind="decision", source="chat", ttl_seconds=900)
        store("other", scope="team")
        for name, value in (
            ("scope", "team"),
            ("project", "acme/shop"),
            ("kind__exact", "decision"),
            ("source__exact", "chat"),
            ("tier__exact", "working"),
        ):
            assert kept.uid in shown(browser.get(reverse(LIST), {name: value}))
        assert shown(browser.get(reverse(LIST), {"scope": "team", "project": "acme/shop"})) == [kept.uid]
        assert kept.uid not in shown(browser.get(reverse(LIST), {"project": ""}))

    @pytest.mark.parametrize("rows", [3, 200])
    def test_a_page_costs_the_same_queries_however_many_rows(
        self, browser: Client, rows: int, django_assert_num_queries: Any
    ) -> None:
        for number in range(rows):
            store(f"fact number {number}", scope=f"scope {number % 3}")
        with django_assert_num_queries(6):  # session, user, scopes, projects, count, rows
            assert browser.get(reverse(LIST)).status_code == 200

    def test_the_texts_are_not_read_for_the_list(self, browser: Client) -> None:
        store("word " * 20_000)
        [row] = browser.get(reverse(LIST)).context["cl"].result_list
        assert row.get_deferred_fields() == {"content", "segments"}


class TestSearch:
    def test_results_keep_the_order_of_recall(self, browser: Client) -> None:
        for number in range(8):
            store(f"deploy {'deploy ' * (number % 4)}the shop {'and much else ' * number}")
        expected = [item.memory.uid for item in recall(Question(query="deploy shop", mode="search", limit=50)).items]
        assert len(expected) == 8
        assert expected != sorted(expected)
        assert shown(browser.get(reverse(LIST), {"q": "deploy shop"})) == expected

    def test_a_column_chosen_by_the_user_beats_relevance(self, browser: Client) -> None:
        one, two = store("deploy deploy deploy", kind="fact"), store("deploy and much else to do", kind="decision")
        column = list(browser.get(reverse(LIST)).context["cl"].list_display).index("kind")
        for order, expected in ((f"{column}", [two.uid, one.uid]), (f"-{column}", [one.uid, two.uid])):
            assert shown(browser.get(reverse(LIST), {"q": "deploy", "o": order})) == expected

    def test_several_scopes_are_searched(self, browser: Client) -> None:
        both = {store("deploy on Friday", scope=scope).uid for scope in ("a", "b")}
        assert set(shown(browser.get(reverse(LIST), {"q": "deploy"}))) == both

    def test_filters_hold_for_a_search(self, browser: Client) -> None:
        store("deploy on Friday")
        kept = store("deploy on Monday", project="acme/shop", kind="decision")
        narrowed = {"q": "deploy", "project": "acme/shop", "kind__exact": "decision", "scope": "default"}
        assert shown(browser.get(reverse(LIST), narrowed)) == [kept.uid]

    def test_a_project_that_is_an_alias_is_searched_as_it_is(self, browser: Client) -> None:
        old = store("deploy on Monday", project="acme/old")
        ProjectAlias.objects.create(scope="default", alias="acme/old", project="acme/new")
        assert shown(browser.get(reverse(LIST), {"q": "deploy", "project": "acme/old"})) == [old.uid]

    def test_a_uid_finds_its_memory_in_any_state(self, browser: Client) -> None:
        gone = store("gone")
        store("other")
        lifecycle.forget(gone.uid, actor="test")
        assert shown(browser.get(reverse(LIST), {"q": f" {gone.uid} "})) == [gone.uid]

    def test_other_states_are_searched_by_the_literal_text(self, browser: Client) -> None:
        gone, other = store("Deploy 100%_sure"), store("deploy otherwise")
        for memory in (gone, other):
            lifecycle.forget(memory.uid, actor="test")
        assert shown(browser.get(reverse(LIST), {"q": "100%_SURE", "state": "forgotten"})) == [gone.uid]

    @pytest.mark.parametrize("query", ['"', "NEAR(", "a OR", "content:", "*", "\x00", "' --", "的"])
    def test_no_query_is_an_error(self, browser: Client, query: str) -> None:
        store("deploy")
        assert browser.get(reverse(LIST), {"q": query}).status_code == 200


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
        assert browser.get(reverse("admin:memories_memory_by_uid", args=[memory.uid])).url == page(memory)
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

        assert offered(live) == {"correct", "changed", "edit", "unpin", "forget", "forget_chain"}
        assert offered(old) == {"edit", "pin", "forget", "forget_chain"}
        assert offered(gone) == {"restore"}


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
