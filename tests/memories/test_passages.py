"""Long texts in pieces: whatever the text, nothing is lost and no piece is too long."""

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memories.passages import OVERLAP, SIZE, passages

WORDS = st.text(alphabet="abcäß日本語🦉é0_", min_size=1, max_size=30)
SENTENCES = st.lists(WORDS, min_size=1, max_size=90).map(" ".join)
TEXTS = st.lists(
    st.tuples(SENTENCES, st.sampled_from([". ", "。", "\n", "\n\n", "! ", "?", "... ", " ", ""])),
    min_size=1,
    max_size=12,
).map(lambda parts: "".join(word + end for word, end in parts))
ANY = st.one_of(
    TEXTS,
    st.text(min_size=1, max_size=3 * SIZE),
    st.integers(1, 5000).map(lambda number: "字" * number),
    st.integers(1, 5000).map(lambda number: "\n" * number),
    st.integers(1, 5000).map(lambda number: "." * number),
    st.integers(1, 2000).map(lambda number: "。字" * number),
    st.integers(1, 2000).map(lambda number: " " * number + "x"),
)


@given(ANY)
@example("x" * SIZE + " " + "x" * SIZE)
@example(("a" * 89 + ". ") * 4 + "b" * 389 + ". ")
def test_pieces_cover_the_text_in_order(text: str) -> None:
    spans = passages(text)
    assert spans[0][0] == 0
    assert spans[-1][1] == len(text)
    for (start, end), (following, last) in pairwise(spans):
        assert start < following <= end
        assert end <= last


@given(ANY)
@example("x" * (SIZE + 1))
@example(" " + "x" * SIZE)
def test_no_piece_is_longer_than_its_size_or_empty(text: str) -> None:
    for start, end in passages(text):
        assert 0 < end - start <= SIZE


@given(ANY)
def test_pieces_overlap_by_little(text: str) -> None:
    for (_, end), (following, _) in pairwise(passages(text)):
        assert end - following <= OVERLAP


@given(ANY)
@example(("a" * 89 + ". ") * 4 + "b" * 389 + ". ")
def test_no_piece_lies_within_the_one_before(text: str) -> None:
    for (_, end), (_, last) in pairwise(passages(text)):
        assert end < last


@given(st.text(min_size=1, max_size=SIZE))
def test_a_short_text_is_one_piece(text: str) -> None:
    assert passages(text) == [(0, len(text))]


def test_pieces_begin_and_end_with_sentences() -> None:
    text = " ".join(f"This is the sentence of number {number}." for number in range(60))
    for start, end in passages(text):
        assert text[start:end].startswith("This is ")
        assert text[start:end].rstrip().endswith(".")


def test_neighbours_share_a_sentence() -> None:
    text = " ".join(f"This is the sentence of number {number}." for number in range(60))
    assert all(following < end for (_, end), (following, _) in pairwise(passages(text)))


def test_a_sentence_that_is_too_long_is_cut_between_words() -> None:
    text = "word " * 500
    assert all(text[start:end].strip().split(" ")[0] == "word" for start, end in passages(text))
    assert all(text[start:end].strip().split(" ")[-1] == "word" for start, end in passages(text))


@pytest.mark.parametrize("text", ["字" * 200_000, "\n" * 200_000, "word " * 40_000, "A sentence. " * 20_000])
def test_a_huge_text_is_cut_in_pieces_of_which_no_more_than_needed_exist(text: str) -> None:
    assert len(text) / SIZE <= len(passages(text)) <= 2 * len(text) / (SIZE - OVERLAP) + 1
