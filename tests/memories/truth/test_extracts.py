"""Texts joined without a model: nothing is dropped but what is said twice in the same words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.search.terms import content_words
from memories.truth.extracts import joined, lost, statements

VOCABULARY = ["deploy", "shop", "5", "8", "retries", "never", "only", "branch", "It", "the", "`a.b`", "Ada.", "x;"]
WORDS = st.sampled_from([*VOCABULARY, "(y)", "\n", ".", "!", "不再", "重试", "C++", "-1"])
TEXTS = st.lists(st.lists(WORDS, min_size=1, max_size=12).map(" ".join), min_size=1, max_size=5)


@given(st.text() | st.lists(WORDS).map(" ".join))
def test_sentences_are_the_whole_text(text: str) -> None:
    assert "".join(statements(text)) == text


@given(TEXTS)
def test_every_sentence_is_there_in_its_words(texts: list[str]) -> None:
    whole = joined(texts)
    said = {content_words(piece) for text in whole.split("\n") for piece in statements(text)}
    said |= {content_words(text) for text in texts if text.strip() in whole}
    words = content_words(whole)
    for text in texts:
        for piece in statements(text):
            own = content_words(piece)
            assert own in said or any(words[at : at + len(own)] == own for at in range(len(words) + 1)), piece


@given(TEXTS)
def test_joining_again_adds_nothing(texts: list[str]) -> None:
    assert joined([*texts, *texts]) == joined(texts)


def test_the_same_sentence_is_told_once() -> None:
    assert joined(["We deploy on Monday nights. Ask Ada.", "Ask Bo. we deploy, on monday nights!"]) == (
        "We deploy on Monday nights. Ask Ada.\nAsk Bo."
    )


@pytest.mark.parametrize(
    "texts",
    [
        ["Redis is fast. It keeps sessions of users.", "Postgres is slow. It keeps sessions of users."],
        ["Retry five times at most.", "Retry 5 times at most."],
        ["Never commit secrets here.", "Commit secrets here."],
        ["Run:\n    make test all\n    make test all", "Do:\n    make test all\n"],
        ["```\nx = first_call()\n```", "```\nx = first_call()\n```\nand again"],
    ],
)
def test_what_differs_or_depends_on_its_place_stays(texts: list[str]) -> None:
    assert joined(texts) == "\n".join(text.strip() for text in texts)


def test_a_summary_has_lost_what_it_does_not_name() -> None:
    texts = ["Set `retry_max` to 5 in src/app/deps.toml.", "HTTP calls of fetchAll go to port 8080."]
    assert lost("`retry_max` is 5 (src/app/deps.toml); HTTP by fetchAll, port 8080", texts) == set()
    assert lost("`retry_max` is 15 (src/app/deps.toml); HTTP by fetchAll, port 8080", texts) == {"5"}
    assert lost("retries are 5 (src/deps.toml); calls, port 8080", texts) == {
        "retry_max", "src/app/deps.toml", "http", "fetchall",
    }  # fmt: skip
