"""What counts as an order to remember, and what only sounds like one."""

import pytest

from memsite.harnesses.asked import asked_to_keep


@pytest.mark.parametrize(
    ("prompt", "kept"),
    [
        ("remember that the deploy key rotates on Tuesdays", "the deploy key rotates on Tuesdays"),
        ("Please remember: we use pnpm. Never npm.\n\nNow fix the build.", "we use pnpm. Never npm."),
        ("Remember that we use pnpm. It is faster. Now fix foo.py.", "we use pnpm. It is faster."),
        ("Fix the test. Also, remember we indent with tabs", "we indent with tabs"),
        ("Don't forget that the CI needs Node 22", "the CI needs Node 22"),
        ("don’t forget: Bob owns billing", "Bob owns billing"),
        ("note that staging is on port 5433 for later", "staging is on port 5433"),
        ("note for later: port 5433 is staging", "port 5433 is staging"),
        ("keep in mind that prod is read-only on Fridays", "prod is read-only on Fridays"),
        ("save this to memory: the API limit is 100/s", "the API limit is 100/s"),
        ("can you remember that I prefer tabs?", "I prefer tabs"),
        ("Remember this:\n- a is b\n- c is d", "- a is b\n- c is d"),
        ("Remember to run the tests before a commit.", "Remember to run the tests before a commit."),
        ("记住：部署密钥每周二轮换", "部署密钥每周二轮换"),
        ("请记住我们用 pnpm 而不是 npm。现在修复这个错误", "我们用 pnpm 而不是 npm。"),
        ("帮我记一下 测试数据库在 5433 端口", "测试数据库在 5433 端口"),
        ("记得发布之前要先跑测试", "发布之前要先跑测试"),
        ("别忘了周五不能部署", "周五不能部署"),
        ("請記住部署在週五禁止", "部署在週五禁止"),
    ],
)
def test_an_order_to_remember_is_found_with_what_is_to_be_kept(prompt: str, kept: str) -> None:
    assert asked_to_keep(prompt) == [kept]


@pytest.mark.parametrize(
    "prompt",
    [
        "Do you remember that bug?",
        "I remember that we used Redis",
        "remember when we did this?",
        "remember me token fails",
        "remember this",
        "Note that the tests are slow.",
        "add a remember-me checkbox",
        "the remember() function fails: remember that it returns None",
        "```\nremember that x is y\n```\nfix it",
        "> remember that x is y\nwhat did Bob mean?",
        "记得上次的问题吗？",
        "你还记得那个错误吗",
        "记住了吗？",
        "",
    ],
)
def test_talk_about_remembering_is_no_order(prompt: str) -> None:
    assert asked_to_keep(prompt) == []


def test_an_order_at_either_end_of_a_long_prompt_is_found() -> None:
    log = "2026-03-01 INFO request served\n" * 10_000
    prompt = f"Remember that the port is 80.\n{log}Remember that the host is db1."
    assert asked_to_keep(prompt) == ["the port is 80.", "the host is db1."]


def test_several_orders_are_kept_singly() -> None:
    prompt = "Remember that the port is 80. Remember that the host is db1. Then deploy."
    assert asked_to_keep(prompt) == ["the port is 80.", "the host is db1."]


@pytest.mark.parametrize("piece", ["please ", "remember ", "记住", "- ", "you should ", "\n\n", "note that "])
def test_hostile_prompts_are_read_in_no_time(piece: str) -> None:
    asked_to_keep(piece * 100_000)
