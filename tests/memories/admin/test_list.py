"""The list of memories: order, filters, search."""

import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from memories import lifecycle, listing
from memories.models import Memory, ProjectAlias
from memories.recall import Question, recall
from tests.memories.admin.pages import LIST, shown, store

pytestmark = pytest.mark.django_db


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

    def test_each_state_lists_as_many_as_are_counted(self, browser: Client) -> None:
        old = store("old one", ttl_seconds=60)
        store("new one", supersedes=[store("older one").uid, old.uid])
        Memory.objects.filter(pk=old.pk).update(expires_at=old.created_at)
        counted = listing.stats().by_state
        assert counted == {"live": 1, "superseded": 1, "expired": 1, "forgotten": 0}
        for state, count in counted.items():
            rows = browser.get(reverse(LIST), {"state": state}).context["cl"].result_list
            assert [row.state for row in rows] == [state] * count

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
