"""An install that is killed, one beside another, and one that may not write."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from memsite.install import changes, documents, manifest
from memsite.install.places import Places
from tests.memsite.install.existing import every_harness, prepare
from tests.memsite.user import User


@every_harness
def test_an_install_that_was_killed_is_taken_out_to_the_byte(
    user: User, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = prepare(user, name)

    def killed(change: changes.Change) -> None:
        documents.replace(change.document, change.after)
        os._exit(9)

    with monkeypatch.context() as patched:
        patched.setattr(changes, "make", killed)
        child = os.fork()
        if not child:
            user.run("install", name)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    assert user.files() != before
    user.run("uninstall", name)
    assert user.files() == before


def test_two_installs_at_once_are_both_on_record(user: User) -> None:
    names = ("claude", "codex", "kimi", "gemini")
    environment = {"HOME": str(user.home), "PATH": str(user.programs)}
    command = [sys.executable, "-m", "memsite.cli", "install"]
    running = [subprocess.Popen([*command, name], env=environment, stdout=subprocess.DEVNULL) for name in names]
    assert [one.wait() for one in running] == [0, 0, 0, 0]
    known = manifest.load(Places.of(environment))
    assert sorted(target.name for target in known.targets) == sorted(names)
    assert {one.target for one in known.files.values()} == set(names)


def test_a_home_that_cannot_be_written_is_one_sentence(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(30, "Read-only file system", "/home/me/.local")

    monkeypatch.setattr("tempfile.mkstemp", refuse)
    monkeypatch.setattr(Path, "mkdir", refuse)
    assert "Read-only file system" in user.fails("install", "claude")
    user.run("uninstall", "claude")
    monkeypatch.setenv("MEMORY_PORT", "9000")
    assert "config.toml cannot be written: Read-only file system" in user.fails("install", "claude")
    assert not user.files()
