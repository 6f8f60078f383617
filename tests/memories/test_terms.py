import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories import recall as reading
from memories.recall import Question, recall
from memories.search.scripts import segments
from memories.search.terms import any_of, content_words, query_terms


def found(query, mode="search"):
    return [item.memory.content for item in recall(Question(query=query, mode=mode)).items]


@pytest.mark.parametrize("mode", ["search", "inject"])
@pytest.mark.parametrize("query", ["blue-116", "BLUE-116", "tag blue-116", '"blue-116"'])
def test_a_hyphen_is_no_syntax(remembered, query, mode):
    remembered("build tag blue-116 is green")

    assert found(query, mode) == ["build tag blue-116 is green"]


@pytest.mark.parametrize("query", ["pre-edit", "-100821"])
def test_a_term_around_a_hyphen_is_found(remembered, query):
    remembered("the pre-edit hook of job -100821 failed")
    remembered("nothing of the kind")

    assert found(query) == ["the pre-edit hook of job -100821 failed"]


@pytest.mark.django_db
@pytest.mark.parametrize("mode", ["search", "inject"])
@pytest.mark.parametrize(
    "query",
    [
        "memory:safe",
        'say "hi',
        "foo AND",
        "NOT",
        "NEAR(",
        "NEAR(a b, 3)",
        "(python",
        "a*",
        "^x",
        "{a b}:c",
        "content:secret",
        '""',
        '"',
        "'",
        "don't use agents",
        "+",
        "%",
        "\\",
        "; DROP TABLE memories_memory; --",
        "",
        " ",
        "\x00",
        "\ud800",
        "…",
        "🦜",
        "a" * 100_000,
        "word " * 50_000,
        "路" * 30_000,
    ],
    ids=lambda value: value[:12].encode("ascii", "backslashreplace").decode(),
)
def test_no_query_is_an_error(query, mode):
    assert found(query, mode) == []


@pytest.mark.parametrize(
    ("content", "query"),
    [
        ("rust is memory:safe", "memory:safe"),
        ("they say hi to all", 'say "hi'),
        ("the foo factory", "foo AND"),
        ("(python) is here", "(python"),
        ("don't use agents for that", "don't use agents"),
        ("the user's terminal", "the user's terminal"),
    ],
)
def test_what_looks_like_syntax_is_looked_for_as_words(remembered, content, query):
    remembered(content)

    assert found(query) == [content]


@given(st.text())
def test_the_expression_of_any_query_is_quoted(query):
    expression = any_of(query_terms(query, keep_stopwords=True))

    parts = expression.split(" OR ") if expression else []
    assert all(part.rstrip("*").startswith('"') and part.rstrip("*").endswith('"') for part in parts)
    assert all('"' not in part.rstrip("*")[1:-1].replace('""', "") for part in parts)


@pytest.mark.parametrize("query", ["migration of database", "database migration?", "When was the migration postponed?"])
def test_a_question_is_no_phrase(remembered, query):
    remembered("the database migration was postponed")

    assert found(query) == ["the database migration was postponed"]


@pytest.mark.parametrize(
    ("content", "query"),
    [
        ("the host is uteke-cloud-dev", "uteke-cloud-dev"),
        ("the host is uteke-cloud-dev", "uteke-cloud"),
        ("the host is uteke-cloud-dev", "cloud-dev"),
        ("the host is uteke-cloud-dev", "uteke"),
        ("see ADR-0005 for that", "ADR-0005"),
        ("see ADR-0005 for that", "adr-0005"),
        ("see ADR-0005 for that", "0005"),
        ("fixed in v1.2.3 at last", "v1.2.3"),
        ("look at src/app/models.py first", "src/app/models.py"),
        ("look at src/app/models.py first", "models.py"),
        ("call foo_bar twice", "foo_bar"),
        ("call foo_bar twice", "foo"),
        ("the class PaymentGatewayFactory", "GatewayFact"),
        ("the error E11000duplicate", "11000dup"),
        ("commit 9f86d081884c7d659a2f", "d081884c7d"),
        (r"in C:\repos\shop", r"C:\repos"),
        ("the db is down", "db"),
        ("the ci is red", "ci"),
    ],
)
def test_an_identifier_is_found_whole_and_in_part(remembered, content, query):
    remembered(content)
    remembered("nothing of the kind")

    assert found(query) == [content]


def test_the_whole_identifier_stands_above_one_that_shares_a_part(remembered):
    remembered("the host is uteke-cloud-dev")
    remembered("the host is uteke-cloud-prod")

    assert found("uteke-cloud-prod")[0] == "the host is uteke-cloud-prod"


@pytest.mark.parametrize(
    "query", ["数据", "数据库", "迁移", "移", "数", "昨天完成", "postgres迁移", "gen-x", "把gen-x部署", "gen"]
)
def test_unspaced_text_is_found_by_any_of_its_words(remembered, query):
    remembered("数据库postgres迁移昨天完成了，然后把gen-x部署到测试环境")
    remembered("天气很好")

    assert len(found(query)) == 1


@pytest.mark.parametrize(
    ("content", "query"),
    [
        ("東京サーバーは水曜に再起動する", "再起動"),
        ("東京サーバーは水曜に再起動する", "サーバー"),
        ("서버를 다시 시작했다", "서버"),
        ("ฐานข้อมูลย้ายไปแล้ว", "ข้อมูล"),
        ("Миграция базы отложена", "базы"),
        ("המסד הועבר לענן", "לענן"),
        ("Die Straße ist gesperrt", "STRASSE gesperrt"),
        ("le café est fermé", "cafe ferme"),
    ],
)
def test_other_scripts_are_found(remembered, content, query):
    remembered(content)
    remembered("nothing of the kind")

    assert found(query) == [content]


def test_a_bigram_across_two_words_of_other_texts_is_not_invented(remembered):
    remembered("今天 气温很高")

    assert segments("今天 气温") == "今天 天 气温 温"
    assert found("天气") == []


def test_a_query_of_nothing_but_stop_words_says_nothing_to_an_injection(remembered):
    remembered("to be or not to be")

    assert found("to be or not", "inject") == []
    assert found("to be or not", "search") == ["to be or not to be"]


def test_a_long_prompt_is_reduced_to_its_telling_terms(remembered):
    remembered("the parrot server listens on 9411")
    prompt = "please have a look at this piece of text and write about it " * 100

    assert found(f"{prompt} parrot server 9411") == ["the parrot server listens on 9411"]
    assert found(f"{prompt * 20} parrot server 9411") == ["the parrot server listens on 9411"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("We use tabs.", "we use TABS"),
        ("The API is slow!", "API slow"),
        ("- We use *tabs*", "We use tabs"),
        ("# Tabs", "Tabs"),
        ("don't panic", "don’t panic"),
    ],
)
def test_case_punctuation_and_stop_words_carry_no_meaning(one, other):
    assert content_words(one) == content_words(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("retries", "no longer retries"),
        ("do commit", "do not commit"),
        ("do commit", "don't commit"),
        ("always merge", "never merge"),
        ("all tests", "some tests"),
        ("before lunch", "after lunch"),
        ("must merge", "may merge"),
        ("from here to there", "to here from there"),
        ("the cap is 9", "the cap is -9"),
        ("load > 5", "load < 5"),
        ("version 1.2", "version 12"),
        ("C++ is banned", "C# is banned"),
        ("C is banned", "C++ is banned"),
        ("costs 5 €", "costs 5 $"),
        ("✅ deploys", "❌ deploys"),
        ("部署需要审批", "部署不需要审批"),
    ],
)
def test_what_decides_a_sentence_carries_meaning(one, other):
    assert content_words(one) != content_words(other)


def test_texts_without_any_telling_word_are_not_taken_for_each_other(remembered, configure):
    configure(inject_min_relevance=0.0)
    for text in ("who?", "what?"):
        remembered(text)

    items = recall(Question(query="who what", mode="search")).items
    assert len(reading._folded(iter(items), 5)) == 2


@pytest.mark.parametrize("word", ["'x' * 200_000", "'ab' * 100_000", "'ab_' * 70_000", "'数据' * 100_000"])
def test_one_endless_word_hangs_nothing(word):
    """A pattern that is quadratic in the length of a word takes minutes here; no other limit could end it."""
    code = f"from memories.search.scripts import segments; from memories.search.terms import query_terms; w = {word}"
    subprocess.run([sys.executable, "-c", f"{code}; segments(w); query_terms(w)"], check=True, timeout=60)
