"""What agent programs themselves say of their configuration."""

import json

import pytest

from tests.memsite.doctor.installed import Installed, line
from tests.memsite.user import User

pytestmark = pytest.mark.usefixtures("at_a_free_port")


@pytest.mark.parametrize(
    ("trust", "level"), [("trusted", "ok"), ("untrusted", "fail"), ("modified", "fail"), (None, "warn")]
)
def test_codex_is_asked_whether_it_trusts_the_hooks(
    user: User, installed: Installed, trust: str | None, level: str
) -> None:
    user.run("install", "codex")
    assert line(user.fails("doctor"), "Codex", "trust").startswith("warn")
    hook = {"command": "python memsite/hook.py codex PreCompact", "trustStatus": trust, "enabled": True}
    stranger = {"command": "say done", "trustStatus": "untrusted", "enabled": True}
    answer = {"id": 2, "result": {"data": [{"hooks": [hook, stranger]}]}} if trust else {"id": 2}
    user.has("codex", f"read a; read b; read c; echo '{{\"id\": 1}}'; echo nonsense; echo '{json.dumps(answer)}'")
    assert line(user.fails("doctor"), "Codex", "trust").startswith(level)


@pytest.mark.parametrize(("code", "level"), [(0, "ok"), (1, "fail")])
def test_kimi_is_asked_about_its_configuration(user: User, installed: Installed, code: int, level: str) -> None:
    user.run("install", "kimi")
    user.has("kimi", f"exit {code}")
    assert line(user.fails("doctor"), "kimi doctor", "valid").startswith(level)


def test_an_agent_program_that_cannot_be_started_is_only_a_warning(user: User, installed: Installed) -> None:
    user.run("install", "codex", "kimi")
    user.has("codex").write_bytes(b"no program")
    user.has("kimi").write_bytes(b"no program")
    said = user.fails("doctor")
    assert line(said, "Codex", "trust").startswith("warn")
    assert "kimi doctor" not in said
