"""The plugin's own checks, as a person who works on it runs them."""

from pathlib import Path

from tests.opencode_plugin.conftest import Npm


def test_the_plugin_holds_to_the_types_that_opencode_publishes(npm: Npm, plugin: Path) -> None:
    answer = npm("run", "typecheck", folder=plugin)
    assert answer.returncode == 0, answer.stdout


def test_the_tests_of_the_plugin_pass(npm: Npm, plugin: Path) -> None:
    answer = npm("test", folder=plugin)
    assert answer.returncode == 0, answer.stdout[-5000:]
    assert "# fail 0" in answer.stdout or "ℹ fail 0" in answer.stdout
