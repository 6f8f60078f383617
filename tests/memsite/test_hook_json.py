"""hook.py reads and writes JSON as `json` does, without its cost."""

import json
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memsite import hook

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@given(VALUES)
def test_any_value_is_written_as_json_writes_it(value: Any) -> None:
    assert hook.written(value) == json.dumps(value).encode()


@given(VALUES, st.sampled_from([None, 2]), st.booleans())
def test_any_value_is_read_as_json_reads_it(value: Any, indent: int | None, ascii_only: bool) -> None:
    text = f" {json.dumps(value, indent=indent, ensure_ascii=ascii_only)}\n"
    assert hook.parsed(text.encode("utf-8", "replace")) == json.loads(text.encode("utf-8", "replace"))


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0")))  # NUL would tell `json` of UTF-16
@example("0\xa0")
def test_text_that_is_no_json_is_refused_by_both(text: str) -> None:
    try:
        expected = json.loads(text.encode())
    except ValueError:
        with pytest.raises(ValueError, match=r"."):
            hook.parsed(text.encode())
    else:
        assert repr(hook.parsed(text.encode())) == repr(expected)


@pytest.mark.parametrize("text", [b"", b"{", b"{} {}", b"nul", b'{"a": 1,}', b'"\x01"', b"\xff"])
def test_broken_json_is_refused(text: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        hook.parsed(text)


def test_a_byte_order_mark_is_no_part_of_it() -> None:
    assert hook.parsed(b'\xef\xbb\xbf{"a": 1}') == {"a": 1}


def test_another_python_uses_the_whole_of_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hook, "_json", SimpleNamespace(encode_basestring_ascii=None))
    assert hook.parsed(b'{"a": [1.5, "\xc3\xbc"]}') == {"a": [1.5, "ü"]}
    assert hook.written({"a": "ü"}) == b'{"a": "\\u00fc"}'
