from itertools import islice

import pytest
from baseline import STOP_WORDS, content_words
from texts import FUNCTION_WORDS, LONGEST, PROJECTS, SHORTEST, Text, queries, texts


@pytest.fixture(scope="module")
def stored() -> list[Text]:
    return list(islice(texts(), 1000))


def test_texts_are_distinct_and_of_the_length_that_is_promised(stored: list[Text]) -> None:
    assert len({text.content for text in stored}) == 1000
    assert all(SHORTEST <= len(text.content) <= LONGEST for text in stored)


def test_texts_are_the_same_in_every_run(stored: list[Text]) -> None:
    assert list(islice(texts(), 50)) == stored[:50]


def test_projects_hold_equally_many_texts(stored: list[Text]) -> None:
    assert {sum(text.project == project for text in stored) for project in PROJECTS} == {200}


def test_words_are_spread_as_in_prose(stored: list[Text]) -> None:
    documents: dict[str, int] = {}
    for text in stored:
        for word in content_words(text.content):
            documents[word] = documents.get(word, 0) + 1
    most, *_, least = sorted(documents.values(), reverse=True)
    assert 50 < most < 200
    assert least == 1


def test_the_most_frequent_words_are_stop_words() -> None:
    assert set(FUNCTION_WORDS) <= STOP_WORDS


def test_queries_are_three_to_eight_telling_words_of_a_text_of_their_project(stored: list[Text]) -> None:
    for query in queries(stored, 50):
        words = query.text.split()
        assert 3 <= len(words) <= 8
        assert content_words(query.text) == words
        assert any(set(words) <= set(content_words(text.content)) for text in stored if text.project == query.project)
