"""Changing many memories at once, and making two one."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from memories import clock
from memories.admin.differences import MOST_PIECES, differences
from memories.models import AuditEntry, Memory
from memories.recall import Question, recall
from tests.memories.admin.pages import LIST, NASTY, page, run, run_on, said, store

pytestmark = pytest.mark.django_db


def confirmed(browser: Client, action: str, memories: list[Memory], **fields: Any) -> Any:
    return run_on(browser, action, memories, post="yes", **fields)


class TestSelections:
    def test_a_selection_is_counted_before_it_is_changed(self, browser: Client) -> None:
        memories = [store(f"memory {number}") for number in range(3)]
        response = run_on(browser, "pin_selected", memories)
        assert "Pin 3 memories?" in response.content.decode()
        assert not Memory.objects.filter(pinned=True).exists()
        assert "Changed 3 memories." in said(confirmed(browser, "pin_selected", memories))
        assert Memory.objects.filter(pinned=True).count() == 3
        confirmed(browser, "unpin_selected", memories[:2])
        assert Memory.objects.filter(pinned=True).count() == 1

    def test_tags_are_added_and_removed(self, browser: Client) -> None:
        first, second = store("one", tags=["old", "kept"]), store("two")
        assert "Add tags" in run_on(browser, "retag_selected", [first, second]).content.decode()
        confirmed(browser, "retag_selected", [first, second], add="new, newer", remove="old")
        tags = {one.content: one.tags for one in Memory.objects.all()}
        assert tags == {"one": ["kept", "new", "newer"], "two": ["new", "newer"]}
        assert AuditEntry.objects.filter(action="edit", actor="owner").count() == 2

    def test_a_move_makes_twins_one(self, browser: Client) -> None:
        there = store("the port is 80", project="acme/infra", tags=["there"])
        here, other = store("the port is 80", project="acme/shop", tags=["here"]), store("else", project="acme/shop")
        confirmed(browser, "move_selected", [here, other], project="acme/infra")
        here.refresh_from_db()
        there.refresh_from_db()
        other.refresh_from_db()
        assert (here.superseded_by, here.superseded_reason) == (there, "merge")
        assert there.tags == ["there", "here"]
        assert other.project == "acme/infra"

    def test_all_pages_are_changed_at_once(self, browser: Client) -> None:
        memories = [store(f"memory number {number}") for number in range(60)]
        response = run_on(browser, "pin_selected", memories[:1], select_across="1")
        assert "Pin 60 memories?" in response.content.decode()
        confirmed(browser, "pin_selected", memories[:1], select_across="1")
        assert Memory.objects.filter(pinned=True).count() == 60

    def test_too_many_tags_change_nothing(self, browser: Client) -> None:
        memory = store("one")
        response = confirmed(browser, "retag_selected", [memory], add=",".join(f"t{n}" for n in range(60)))
        assert "at most 50 tags" in said(response)
        memory.refresh_from_db()
        assert memory.tags == []

    @pytest.mark.parametrize("action", ["pin_selected", "retag_selected", "move_selected"])
    def test_staff_change_only_their_scopes(self, staff_browser: Client, action: str) -> None:
        foreign = store("foreign", project="acme/shop", tags=["x"])
        confirmed(staff_browser, action, [foreign], add="new", project="mine")
        foreign.refresh_from_db()
        assert (foreign.pinned, foreign.tags, foreign.project) == (False, ["x"], "acme/shop")


class TestMerge:
    def test_two_become_one_that_is_found(self, browser: Client) -> None:
        ends = store("The deploy key rotates monthly", tags=["keys"], pinned=True)
        stays = store("The deploy key rotates every 30 days", tags=["deploy"])
        url = page(ends, "merge")
        assert run(browser, ends, "merge")["Location"] == url
        assert f"{url}?into={stays.uid}" in browser.get(url).content.decode()
        both = browser.get(url, {"into": stays.uid}).content.decode()
        assert "rotates monthly" in both
        assert "every 30 days" in both
        assert Memory.objects.live().count() == 2
        assert browser.post(url, {"into": stays.uid})["Location"] == page(stays)
        stays.refresh_from_db()
        ends.refresh_from_db()
        assert (stays.tags, stays.pinned) == (["deploy", "keys"], True)
        assert (ends.superseded_by, ends.superseded_reason) == (stays, "merge")
        found = recall(Question(query="deploy key", mode="search")).items
        assert [item.memory.pk for item in found] == [stays.pk]
        assert AuditEntry.objects.get(action="merge").memory_uid == ends.uid

    def test_the_newer_may_end_too(self, browser: Client) -> None:
        stays, ends = store("the key rotates", valid_from="2026-01-01"), store("keys rotate")
        browser.post(page(ends, "merge"), {"into": stays.uid})
        ends.refresh_from_db()
        assert ends.superseded_by == stays
        assert ends.valid_to >= ends.valid_from
        assert list(Memory.objects.current(clock.now())) == [stays]

    def test_what_cannot_be_merged_is_said_and_stays(self, browser: Client) -> None:
        memory, foreign = store("one"), store("foreign secret", scope="other")
        old = store("two")
        store("three", supersedes=[old.uid])
        for into, sentence in (
            (foreign.uid, "There is no memory"),
            ("0" * 32, "There is no memory"),
            (memory.uid, "Two different memories"),
            (old.uid, "already superseded"),
            ("short", "at least 32"),
        ):
            html = browser.post(page(memory, "merge"), {"into": into}).content.decode()
            assert sentence in html, into
            assert "foreign secret" not in html
        memory.refresh_from_db()
        assert memory.valid_to is None

    def test_staff_merge_only_in_their_scopes(self, staff_browser: Client) -> None:
        one, two = store("one"), store("two")
        assert staff_browser.post(page(one, "merge"), {"into": two.uid}).status_code == 404
        assert Memory.objects.live().count() == 2


class TestPage:
    def test_versions_show_what_changed(self, browser: Client) -> None:
        first = store("The cap is 1k a minute")
        second = store("The cap is 2k a minute", supersedes=[first.uid])
        html = browser.get(page(second)).content.decode()
        assert "The cap is <del>1k</del><ins>2k</ins> a minute" in html

    def test_contradictions_and_similar_memories_are_named(self, browser: Client) -> None:
        older = store("The session store is Redis", project="acme/shop")
        store("The session store moved from Redis to Postgres", project="acme/shop")
        store("The session store is Redis, elsewhere", project="acme/other")
        html = browser.get(page(older)).content.decode()
        contradictions, _, similar = html.partition("Similar memories of this scope")
        assert "moved from Redis to Postgres" in contradictions.partition("Contradictions")[2]
        assert "elsewhere" in similar
        assert "acme/other" in similar

    def test_similar_memories_of_other_scopes_are_not_told(self, browser: Client) -> None:
        memory = store("The session store is Redis")
        store("The session store is Redis, in secret", scope="other")
        assert "in secret" not in browser.get(page(memory)).content.decode()

    def test_stored_markup_is_text_everywhere(self, browser: Client) -> None:
        fields = {"project": NASTY, "tags": [NASTY], "harness": NASTY, "session": NASTY, "actor": NASTY}
        first = store(f"The session store is Redis {NASTY}", **fields)
        second = store(f"The session store is Postgres {NASTY}", supersedes=[first.uid], **fields)
        third = store(f"The session store moved to disk {NASTY}", **fields)
        for url in (
            page(first),
            page(second),
            page(third, "merge"),
            f"{page(third, 'merge')}?into={second.uid}",
            reverse(LIST) + "?state=all",
        ):
            html = browser.get(url).content.decode()
            assert NASTY not in html, url
            assert "alert(1)" in html, url


class TestDifferences:
    def test_pieces_join_to_both_texts(self) -> None:
        before, after = "the cap is 1k.\nno more", "the new cap is 2k.\nno more, ever"
        pieces = differences(before, after)
        assert "".join(one.text for one in pieces if one.what != "new") == before
        assert "".join(one.text for one in pieces if one.what != "gone") == after

    def test_long_texts_are_compared_by_lines_and_endless_ones_not(self) -> None:
        line = "word " * 9 + "\n"
        lines = differences(line * 300 + "old\n", line * 300 + "new\n")
        assert [(one.what, one.text) for one in lines[1:]] == [("gone", "old\n"), ("new", "new\n")]
        whole = differences("a\n" * (MOST_PIECES + 1), "b\n" * (MOST_PIECES + 1))
        assert [one.what for one in whole] == ["gone", "new"]
