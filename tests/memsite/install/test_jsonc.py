"""Editing JSON with comments: what is not named keeps its bytes."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsite.install import jsonc
from memsite.install.unreadable import Unreadable

COMMENTED = """\ufeff// mine
{
\t"theme": "dark", // as at home
\t/* hooks of the team */
\t"hooks": {
\t\t"Stop": [
\t\t\t{"command": "say done"}, // keep
\t\t],
\t},
\t// the end
}
"""

SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-9, 9), st.text(max_size=4))
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text(min_size=1, max_size=3), VALUES, max_size=4)
GAPS = ["", " ", "\n", "  ", "\t", "\n  ", "/* c */", " // c\n", "\r\n", "\n// } ,\n\t"]


@st.composite
def written(draw: st.DrawFn, value: object) -> str:
    """A value as a person may write it, with comments and trailing commas."""

    def gap() -> str:
        return draw(st.sampled_from(GAPS))

    if isinstance(value, dict):
        parts = [
            gap() + json.dumps(key, ensure_ascii=False) + gap() + ":" + gap() + draw(written(one)) + gap()
            for key, one in value.items()
        ]
    elif isinstance(value, list):
        parts = [gap() + draw(written(one)) + gap() for one in value]
    else:
        return json.dumps(value, ensure_ascii=False)
    trailing = "," + gap() if parts and draw(st.booleans()) else gap()
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return opening + ",".join(parts) + trailing + closing


@st.composite
def documents(draw: st.DrawFn) -> tuple[str, dict[str, object]]:
    value = draw(OBJECTS)
    return draw(st.sampled_from(["", "\ufeff", "// c\n"])) + draw(written(value)) + draw(st.sampled_from(GAPS)), value


def squeezed(text: str) -> str:
    return "".join(text.split())


@given(documents())
def test_what_a_person_wrote_is_read(document: tuple[str, dict[str, object]]) -> None:
    text, value = document
    assert jsonc.loads(text) == value


@given(documents(), VALUES)
def test_adding_a_member_changes_nothing_else_and_removing_it_gives_everything_back(
    document: tuple[str, dict[str, object]], new: object
) -> None:
    text, value = document
    added = jsonc.add(text, (), new, name="a new one")
    assert jsonc.loads(added) == {**value, "a new one": new}
    removed = jsonc.remove(added, ("a new one",))
    assert jsonc.loads(removed) == value
    assert squeezed(removed) == squeezed(text)


@given(documents(), VALUES, st.data())
def test_every_list_takes_an_element_and_gives_it_back(
    document: tuple[str, dict[str, object]], new: object, data: st.DataObject
) -> None:
    text, value = document
    lists = {name: one for name, one in value.items() if isinstance(one, list)}
    name = data.draw(st.sampled_from([*lists, "another"]))
    before = lists.get(name, [])
    added = jsonc.add(text, (name,), new)
    assert jsonc.loads(added) == {**value, name: [*before, new]}
    removed = jsonc.remove(added, (name, len(before)))
    if before:
        assert jsonc.loads(removed) == value
        assert squeezed(removed) == squeezed(text)


@given(documents(), VALUES, st.data())
def test_any_member_can_be_replaced_and_removed(
    document: tuple[str, dict[str, object]], new: object, data: st.DataObject
) -> None:
    text, value = document
    name = data.draw(st.sampled_from([*value, "x"]))
    text = jsonc.add(text, (), 1, name="x") if name == "x" else text
    assert jsonc.loads(jsonc.replace(text, (name,), new)) == {**value, name: new}
    left = {key: one for key, one in value.items() if key != name}
    assert jsonc.loads(jsonc.remove(text, (name,))) == left


def test_comments_trailing_commas_tabs_and_the_byte_order_mark_stay() -> None:
    added = jsonc.add(COMMENTED, ("hooks", "Start"), {"command": "remember"})
    added = jsonc.add(added, ("hooks", "Stop"), {"command": "too"})
    assert jsonc.loads(added)["hooks"] == {
        "Stop": [{"command": "say done"}, {"command": "too"}],
        "Start": [{"command": "remember"}],
    }
    assert '\t\t\t{"command": "say done"}, // keep\n\t\t\t{\n\t\t\t\t"command": "too"\n\t\t\t},\n\t\t],' in added
    back = jsonc.remove(jsonc.remove(added, ("hooks", "Start", 0)), ("hooks", "Stop", 1))
    assert back == COMMENTED


@pytest.mark.parametrize(
    "text",
    [
        "{}\n",
        '{"a": 1}',
        '{\r\n  "a": 1\r\n}',
        '{\n    "a": {"b": [1]}\n}\n',
        '{\n  "a": 1 // last\n}\n',
        '{\n  "a": 1,\n  // nothing more\n}\n',
        '{ "a": [ ] }',
        '{"a": 1,\n "b": 2}',
    ],
)
def test_adding_and_removing_is_exact(text: str) -> None:
    added = jsonc.add(text, ("x", "y"), {"z": 1})
    assert jsonc.loads(added) == {**jsonc.loads(text), "x": {"y": [{"z": 1}]}}
    assert jsonc.remove(added, ("x", "y", 0)) == text


def test_lines_end_as_they_do_in_the_file() -> None:
    added = jsonc.add('{\r\n  "a": 1\r\n}\r\n', (), {"b": [2]}, name="x")
    assert "\n" not in added.replace("\r\n", "")


@pytest.mark.parametrize(
    "text",
    ["{", "[]", '{"a": }', '{"a" 1}', "{'a': 1}", '{"a": 1} x', "nonsense", '{"a": 1 "b": 2}', "{/*", "[" * 5000],
)
def test_what_is_no_json_object_is_refused(text: str) -> None:
    with pytest.raises(Unreadable):
        jsonc.loads(text)


@pytest.mark.parametrize("text", ['{"hooks": []}', '{"hooks": null}', '{"hooks": {"E": {}}}'])
def test_what_stands_in_the_way_is_not_overwritten(text: str) -> None:
    with pytest.raises(Unreadable):
        jsonc.add(text, ("hooks", "E"), 1)
