"""TOML edited by whole tables."""

import tomllib

import pytest

from memsite.install import toml
from memsite.install.unreadable import Unreadable

TEXT = '''# top
a = [
  [1, 2],
] # [not.a.table]
text = """
[neither]
"""

[one] # first
x = "[x]"
# about two

[one."t.w o"]
y = {z = [1]}

[[many]]
n = 1
last = """
"""
'''


def test_tables_are_found_where_headers_are() -> None:
    found = toml.tables(TEXT)
    assert [table.name for table in found] == [("one",), ("one", "t.w o"), ("many",)]
    assert [table.value for table in found] == [{"x": "[x]"}, {"y": {"z": [1]}}, {"n": 1, "last": ""}]


@pytest.mark.parametrize("text", [TEXT, "", TEXT.replace("\n", "\r\n"), "\ufeff[one]\nx = 1\n", "a = 1\n\n\n"])
def test_what_is_added_is_removed_without_a_trace(text: str) -> None:
    added = toml.add(text, "[new]\nv = 1\n")
    assert tomllib.loads(added.removeprefix("\ufeff"))["new"] == {"v": 1}
    assert added.startswith(text)
    assert ("\r\n" in text) == ("\r\n" in added)
    assert toml.remove(added, lambda table: table.name == ("new",)) == text


def test_a_table_in_the_middle_goes_with_its_note_and_leaves_comments_of_others() -> None:
    text = toml.add("a = 1\n", "[mine]\nv = 1") + "\n# about theirs\n[theirs]\nw = 2\n"
    assert toml.remove(text, lambda table: table.name == ("mine",)) == "a = 1\n\n# about theirs\n[theirs]\nw = 2\n"
    (mine, _) = toml.tables(text)
    assert toml.replace(text, mine, "[mine]\nv = 2") == text.replace("v = 1", "v = 2")


def test_a_missing_end_of_line_is_made_up() -> None:
    assert tomllib.loads(toml.add("a = 1", "[new]\nv = 1")) == {"a": 1, "new": {"v": 1}}


@pytest.mark.parametrize("text", ["a =", "[a\n", "new = { v = 2 }\n", "[new]\nv = 3\n"])
def test_what_would_become_invalid_is_refused(text: str) -> None:
    with pytest.raises(Unreadable):
        toml.add(text, "[new]\nv = 1")
