import pytest

from memories import lifecycle, listing
from memories.errors import Rejected
from memories.listing import Filters, page, stats
from memories.models import Memory

pytestmark = pytest.mark.django_db


def listed(**filters):
    return [memory.content for memory in page(Filters(**{"scope": "default", **filters}), limit=500).items]


def test_the_newest_update_comes_first_in_a_total_order(remembered, freeze):
    freeze("2026-03-29T12:00:00+00:00")
    for number in range(5):
        remembered(f"note {number}")
    freeze("2026-03-29T13:00:00+00:00")
    remembered("note 1")

    assert listed() == ["note 1", "note 4", "note 3", "note 2", "note 0"]


def test_pages_neither_overlap_nor_leave_gaps(remembered, freeze):
    freeze("2026-03-29T12:00:00+00:00")
    for number in range(7):
        remembered(f"note {number}")

    pages = [page(Filters(scope="default"), limit=3, offset=offset) for offset in (0, 3, 6, 9)]

    assert [len(one.items) for one in pages] == [3, 3, 1, 0]
    assert {one.total for one in pages} == {7}
    assert len({memory.pk for one in pages for memory in one.items}) == 7


@pytest.mark.parametrize(("limit", "offset"), [(0, 0), (-1, 0), (501, 0), (50, -1), (50, 2**63)])
def test_a_page_that_cannot_be_meant_is_refused(limit, offset):
    with pytest.raises(Rejected):
        page(Filters(scope="default"), limit=limit, offset=offset)


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "foo"},
        {"tier": "foo"},
        {"source": "foo"},
        {"state": "forgotten"},
        {"as_of": "soon"},
        {"project": "x" * 201},
        {"tag": "x" * 201},
        {"harness": "x" * 201},
    ],
)
def test_a_filter_that_cannot_be_meant_is_refused(wrong):
    with pytest.raises(Rejected):
        listed(**wrong)


def test_filters_narrow_the_list(remembered):
    remembered("one", kind="decision", source="chat", harness="codex", tags=["auth"], project="acme/shop")
    remembered("two", ttl_seconds=60, tags=["authentication"])
    remembered("three", scope="team")

    assert listed(kind="decision") == listed(source="chat") == listed(harness="codex") == ["one"]
    assert listed(tier="working") == ["two"]
    assert listed(tag="auth") == ["one"]
    assert listed(tag="aut") == []
    assert listed(scope="team") == ["three"]
    assert listed(kind="decision", tag="authentication") == []


def test_a_project_is_listed_with_what_holds_everywhere(remembered):
    for project in ("acme/shop", "acme/web", ""):
        remembered(f"of {project or None}", project=project)

    assert set(listed(project="acme/shop")) == {"of acme/shop", "of None"}
    assert set(listed(project="shop")) == {"of acme/shop", "of None"}
    assert len(listed(project="")) == len(listed(project=None)) == len(listed(project="*")) == 3


@pytest.mark.parametrize(("q", "found"), [("100%", 1), ("a_b", 1), ("A_B", 1), ("'", 0), ('"', 0), ("\\", 0), ("%", 1)])
def test_a_text_filter_is_no_pattern(remembered, q, found):
    for text in ("sure to 100%", "100 birds", "a_b", "axb"):
        remembered(text)

    assert len(listed(q=q)) == found


@pytest.mark.parametrize("field", ["q", "tag", "harness", "project", "scope"])
@pytest.mark.parametrize("value", ["\ud800", "a\udc95", "'; DROP TABLE memories_memory; --"])
def test_no_value_of_a_filter_is_an_error(remembered, field, value):
    remembered("one", tags=["a"])

    assert listed(**{field: value}) in ([], ["one"])
    assert Memory.objects.count() == 1


def test_the_state_decides_what_is_listed(remembered, freeze):
    freeze("2026-03-29T12:00:00+00:00")
    old = remembered("old")
    remembered("new", supersedes=[old.uid])
    lifecycle.forget(remembered("forgotten").uid, actor="ada")
    remembered("expired", ttl_seconds=60)
    freeze("2026-03-29T12:02:00+00:00")

    assert listed() == listed(state="live") == ["new"]
    assert listed(state="superseded") == ["old"]
    assert set(listed(state="all")) == {"new", "old"}


def test_a_moment_shows_what_was_true_then(remembered, freeze):
    freeze("2026-03-29T12:00:00+00:00")
    old = remembered("old", valid_from="2026-01-01")
    remembered("new", valid_from="2026-02-01", supersedes=[old.uid])

    assert listed(as_of="2026-01-15") == ["old"]
    assert listed(as_of="2026-02-15") == ["new"]
    assert listed(as_of="2025-12-31") == []


def test_listing_takes_a_fixed_number_of_queries(remembered, django_assert_max_num_queries):
    old = None
    for number in range(20):
        old = remembered(f"note {number}", supersedes=[old.uid] if old else [])

    with django_assert_max_num_queries(2):
        found = page(Filters(scope="default", state="all"))
        assert [memory.superseded_by for memory in found.items].count(None) == 1


def test_the_store_in_numbers(remembered, freeze, configure, tmp_path):
    (tmp_path / "memory.db").write_bytes(b"x" * 1000)
    (tmp_path / "memory.db-wal").write_bytes(b"x" * 24)
    configure(db_path=tmp_path / "memory.db")
    freeze("2026-03-29T12:00:00+00:00")
    old = remembered("old", project="acme/shop")
    remembered("new", supersedes=[old.uid])
    remembered("decided", kind="decision")
    lifecycle.forget(remembered("forgotten").uid, actor="ada")
    remembered("expired", ttl_seconds=60)
    remembered("theirs", scope="team")
    freeze("2026-03-29T12:02:00+00:00")

    ours = stats(scopes=["default"])
    assert ours.by_state == {"live": 2, "superseded": 1, "expired": 1, "forgotten": 1}
    assert ours.by_kind == {"decision": 1, "fact": 1}
    assert ours.by_project == {"": 1, "acme/shop": 1}
    assert ours.database_bytes == 1024
    assert stats().by_state["live"] == 3


def test_the_store_says_whether_it_can_be_read(monkeypatch):
    from django.db import OperationalError

    assert listing.database_state() == "ok"
    for message, state in (("database is locked", "busy"), ("disk I/O error", "failed")):

        def broken(*_args, message=message, **_fields):
            raise OperationalError(message)

        monkeypatch.setattr(Memory.objects, "order_by", broken)
        assert listing.database_state() == state
