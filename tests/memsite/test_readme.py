"""The two READMEs say the same, and what they show works."""

import json
import re
from pathlib import Path

import pytest

from memories.recall import Question, recall
from memories.remember import Draft, remember

ROOT = Path(__file__).parents[2]
ENGLISH, CHINESE = ((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "README.zh-CN.md"))


def parts(text: str, pattern: str) -> list[str]:
    return re.findall(pattern, text, re.DOTALL)


@pytest.mark.parametrize(
    "pattern",
    [
        r"```\w*\n(.*?)```",
        r"<!-- settings -->\n(.*?)<!-- /settings -->",
        r"(?m:^\| (`[^|]*(?:\\\|[^|]*)*`)[^|]*\|)",
        r"\]\((docs/[^)]*)\)",
    ],
)
def test_both_languages_have_the_same_commands_calls_settings_and_pages(pattern: str) -> None:
    english = [re.sub(r"[,、] ?", ",", one) for one in parts(ENGLISH, pattern)]
    chinese = [re.sub(r"[,、] ?", ",", one) for one in parts(CHINESE, pattern)]
    assert english
    assert chinese == english


@pytest.mark.parametrize("text", [ENGLISH, CHINESE])
def test_every_page_that_is_named_exists(text: str) -> None:
    for link in parts(text, r"\]\(((?!http)[^)#]+)\)"):
        assert (ROOT / link).exists(), link


@pytest.mark.django_db
def test_the_question_of_the_readme_finds_what_its_first_call_stores() -> None:
    kept, asked = (json.loads(body) for body in re.findall(r"curl --json '(.*?)'", ENGLISH))
    remember(Draft(**kept))
    assert kept["content"] in recall(Question(**asked)).block.text
