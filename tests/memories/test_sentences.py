"""Sentences end where readers see them end, and nothing is lost between them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.sentences import sentences, spans

TEXTS = st.text(alphabet=st.sampled_from("ab1 .!?;。！？；\n\t"), max_size=60)


@given(TEXTS)
def test_the_spans_are_the_text(text: str) -> None:
    assert "".join(text[start:end] for start, end in spans(text)) == text
    assert all(start < end for start, end in spans(text))


@given(TEXTS)
def test_sentences_are_neither_empty_nor_padded(text: str) -> None:
    assert all(sentence == sentence.strip() != "" for sentence in sentences(text))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The port is 8.8. It was 9!  Why?", ["The port is 8.8.", "It was 9!", "Why?"]),
        ("memories/search/sqlite.py is v1.2.3", ["memories/search/sqlite.py is v1.2.3"]),
        ("端口是八千。数据库是Postgres！好", ["端口是八千。", "数据库是Postgres！", "好"]),
        ("- one\n  - two\n\n\nthree", ["- one", "- two", "three"]),
        ("use Redis; drop Postgres", ["use Redis;", "drop Postgres"]),
        ("", []),
        (" \n ", []),
    ],
)
def test_where_a_sentence_ends(text: str, found: list[str]) -> None:
    assert sentences(text) == found
