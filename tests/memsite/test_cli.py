import sys
from importlib.metadata import version
from typing import NoReturn

import pytest
from django.db import OperationalError

from memories.errors import NotFound
from memsite import cli
from memsite.env import BadConfiguration


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """What would have been run."""
    seen: list[list[str]] = []
    monkeypatch.setattr("django.core.management.execute_from_command_line", seen.append)
    return seen


def failing(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def fail(_: object) -> NoReturn:
        raise error

    monkeypatch.setattr("django.core.management.execute_from_command_line", fail)


@pytest.mark.parametrize(
    ("arguments", "run"),
    [
        ([], ["serve"]),
        (["--workers", "2"], ["serve", "--workers", "2"]),
        (["--help"], ["serve", "--help"]),
        (["serve", "--port", "0"], ["serve", "--port", "0"]),
        (["token", "list"], ["token", "list"]),
        (["help"], ["help"]),
    ],
)
def test_without_a_command_the_service_is_run(commands: list[list[str]], arguments: list[str], run: list[str]) -> None:
    cli.main(arguments)
    assert commands == [["memory-mcp", *run]]


def test_the_arguments_of_the_process_are_the_default(
    commands: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["memory-mcp", "check"])
    cli.main()
    assert commands == [["memory-mcp", "check"]]


def test_the_version_is_the_distributions(capsys: pytest.CaptureFixture[str]) -> None:
    cli.main(["--version"])
    assert capsys.readouterr().out == version("memsite") + "\n"


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (BadConfiguration("MEMORY_PORT=x is wrong."), 2, "memory-mcp: MEMORY_PORT=x is wrong.\n"),
        (NotFound("There is none."), 1, "memory-mcp: There is none.\n"),
        (OperationalError("locked"), 1, "memory-mcp: The database cannot be used now: locked.\n"),
        (OSError(28, "No space left on device", "b.db"), 1, "memory-mcp: b.db: No space left on device.\n"),
        (UnicodeEncodeError("utf-8", "\udcff", 0, 1, "x"), 1, "memory-mcp: An argument is no text in UTF-8.\n"),
        (KeyboardInterrupt(), 130, ""),
    ],
)
def test_what_goes_wrong_is_one_line_and_a_code(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: BaseException,
    code: int,
    line: str,
) -> None:
    failing(monkeypatch, error)
    with pytest.raises(SystemExit) as left:
        cli.main(["anything"])
    assert left.value.code == code
    assert capsys.readouterr().err == line
