"""Decisions and preferences, told by the words of a sentence alone."""

import pytest

from memories.stated import stated


@pytest.mark.parametrize(
    ("prompt", "kind", "text"),
    [
        ("We decided to use Postgres. Fix the test.", "decision", "We decided to use Postgres."),
        ("let's go with pytest", "decision", "let's go with pytest"),
        ("From now on write tests first", "decision", "From now on write tests first"),
        ("Our convention is snake_case.", "decision", "Our convention is snake_case."),
        ("我们决定使用 PostgreSQL。", "decision", "我们决定使用 PostgreSQL。"),
        ("从现在起所有接口都要鉴权", "decision", "从现在起所有接口都要鉴权"),
        ("I prefer tabs over spaces", "preference", "I prefer tabs over spaces"),
        ("Never commit to main directly.", "preference", "Never commit to main directly."),
        ("I always use uv", "preference", "I always use uv"),
        ("以后都用 pnpm", "preference", "以后都用 pnpm"),
        ("我喜欢简短的回答", "preference", "我喜欢简短的回答"),
    ],
)
def test_a_statement_is_found_with_its_kind(prompt: str, kind: str, text: str) -> None:
    assert list(stated(prompt)) == [(kind, text)]


@pytest.mark.parametrize(
    "prompt",
    [
        "Should we use Postgres?",
        "Did we decide to use Postgres?",
        "If we decided to use X, what then",
        "never mind",
        "fix the always-on bug",
        "```\nWe decided to use Postgres.\n```",
        "> I prefer tabs",
        "我们决定用什么数据库了吗？",
        "We decided " + "x" * 500,
        "run the tests",
    ],
)
def test_questions_conditions_quotes_and_orders_state_nothing(prompt: str) -> None:
    assert list(stated(prompt)) == []
