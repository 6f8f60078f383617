"""Sentences end where readers see them end, and nothing is lost between them."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.sentences import Span, clauses, sentences

TEXTS = st.text(alphabet=st.sampled_from("ab1 .!?;。！？；\n\t"), max_size=60)
type Split = Callable[[str], list[Span]]


@pytest.mark.parametrize("split", [sentences, clauses])
@given(text=TEXTS)
def test_the_spans_are_the_text(split: Split, text: str) -> None:
    assert "".join(text[start:end] for start, end in split(text)) == text
    assert all(start < end for start, end in split(text))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The port is 8.8. It was 9!  Why?", ["The port is 8.8. ", "It was 9!  ", "Why?"]),
        ("memories/search/sqlite.py is v1.2.3", ["memories/search/sqlite.py is v1.2.3"]),
        ("端口是八千。数据库是Postgres！好", ["端口是八千。", "数据库是Postgres！", "好"]),
        ("- one\n  - two\n\n\nthree", ["- one\n  ", "- two\n\n\n", "three"]),
        ("use Redis; drop Postgres", ["use Redis; drop Postgres"]),
        ("", []),
    ],
)
def test_where_a_sentence_ends(text: str, found: list[str]) -> None:
    assert [text[start:end] for start, end in sentences(text)] == found


def test_a_semicolon_ends_a_clause() -> None:
    text = "use Redis; drop Postgres；好"
    assert [text[start:end] for start, end in clauses(text)] == ["use Redis; ", "drop Postgres；", "好"]
