"""doctor tests what is really configured: hooks are run as they stand in the settings."""

import contextlib
import json
import os
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from memsite.doctor import ports, serving, wires
from memsite.doctor.ports import holder
from memsite.install import jsonc
from memsite.install.harnesses import HARNESSES
from memsite.version import VERSION
from tests.memsite.user import User

type Configure = Callable[..., None]
HEALTH = {"status": "ok", "version": VERSION, "pid": os.getpid(), "database": "ok", "embedder": {"state": "off"}}
SOUND_HOOK = "import sys, json; json.load(sys.stdin)"


class Installed:
    """An installation with a hook.py of the test's own."""

    def __init__(self, folder: Path, moved: Callable[[str], None]) -> None:
        self.hook = folder / "lib/memsite/hook.py"
        self.hook.parent.mkdir(parents=True)
        (folder / "lib/memsite/opencode_plugin").mkdir()
        (folder / "bin").mkdir()
        (folder / "bin/python").symlink_to(sys.executable)
        (folder / "bin/memory-mcp").touch()
        self.hook.write_text(SOUND_HOOK)
        moved(str(folder))


@pytest.fixture
def installed(tmp_path: Path, moved: Callable[[str], None]) -> Installed:
    return Installed(tmp_path / "opt", moved)


@pytest.fixture
def free_port() -> Iterator[int]:
    """Bound, so that nobody else takes it, but nothing listens."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


@pytest.fixture(autouse=True)
def _at_a_free_port(configure: Configure, user: User, free_port: int) -> None:
    configure(port=free_port)


@contextlib.contextmanager
def answering(status: int, body: bytes, *, needs: str = "") -> Iterator[int]:
    """A service that says this at /health; with `needs` it wants that token elsewhere."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            wrong = needs and self.path != "/health" and self.headers["Authorization"] != f"Bearer {needs}"
            self.send_response(401 if wrong else status)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as it is declared
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


def line(said: str, *words: str) -> str:
    """The one line that holds all words."""
    found = [one for one in said.splitlines() if all(word in one for word in words)]
    assert len(found) == 1, said
    return found[0]


@pytest.mark.parametrize("name", sorted(HARNESSES))
def test_the_hooks_of_every_program_are_run(user: User, installed: Installed, name: str) -> None:
    user.run("install", name)
    title = HARNESSES[name].title
    assert line(user.fails("doctor"), title, "slowest in").startswith("ok")
    installed.hook.write_text("raise SystemExit(2)")
    said = line(user.fails("doctor"), title, "exit code 2")
    assert said.startswith("fail")
    assert f"memory-mcp install {name}" in said


@pytest.mark.parametrize(
    ("script", "words"),
    [("print('hello')", "no JSON"), ("print('[1]')", "no JSON"), ("import time; time.sleep(60)", "does not end")],
)
def test_a_hook_that_misbehaves_fails(
    user: User, installed: Installed, monkeypatch: pytest.MonkeyPatch, script: str, words: str
) -> None:
    monkeypatch.setattr(wires, "PATIENCE_SECONDS", 1.0)
    user.run("install", "qwen")
    installed.hook.write_text(script)
    assert line(user.fails("doctor"), "Qwen Code", words).startswith("fail")


def test_a_slow_hook_is_a_warning(user: User, installed: Installed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wires, "BUDGET_SECONDS", 0.0)
    user.run("install", "qwen")
    assert line(user.fails("doctor"), "Qwen Code", "takes").startswith("warn")


def test_no_hook_starts_a_service_while_it_is_tested(user: User, installed: Installed, tmp_path: Path) -> None:
    user.run("install", "claude")
    installed.hook.write_text(
        f"import sys; open({str(tmp_path / 'seen')!r}, 'a').write(' '.join(sys.argv[1:]) + '\\n')"
    )
    user.fails("doctor")
    seen = (tmp_path / "seen").read_text()
    assert "claude SessionStart" in seen
    assert "--autostart" not in seen


def test_an_installation_that_went_away_is_noticed_in_the_settings(
    user: User, installed: Installed, moved: Callable[[str], None], tmp_path: Path
) -> None:
    for name in ("claude", "opencode"):
        user.run("install", name)
    Installed(tmp_path / "opt2", moved)
    said = user.fails("doctor")
    assert line(said, "Claude Code", "another installation").startswith("warn")
    installed.hook.unlink()
    said = user.fails("doctor")
    assert line(said, "Claude Code", "is gone").startswith("fail")
    assert line(said, "opencode", "is gone").startswith("fail")
    user.run("install", "claude", "opencode")
    assert "is gone" not in user.fails("doctor")


def test_twice_connected_and_half_connected_are_warnings(user: User, installed: Installed) -> None:
    user.run("install", "claude")
    user.run("install", "claude", "--project")
    said = user.fails("doctor")
    assert line(said, "Claude Code", "2 hooks for PreCompact").startswith("warn")
    assert line(said, "Claude Code", "2 MCP servers").startswith("warn")
    user.run("uninstall", "claude", "--project")
    assert "2 hooks" not in user.fails("doctor")
    path = user.home / ".claude/settings.json"
    path.write_text(jsonc.remove(path.read_text(), ("hooks", "PreCompact")))
    assert line(user.fails("doctor"), "Claude Code", "no hook for").startswith("warn")


def test_a_program_that_is_here_but_not_connected_and_one_that_lost_its_settings(
    user: User, installed: Installed
) -> None:
    (user.home / ".gemini").mkdir()
    user.run("install", "qwen")
    (user.home / ".qwen/settings.json").unlink()
    said = user.fails("doctor")
    assert line(said, "Gemini CLI", "not connected").startswith("ok")
    assert line(said, "Qwen Code", "nothing of it is left").startswith("fail")


def test_settings_that_cannot_be_read_fail(user: User, installed: Installed) -> None:
    user.write(".qwen/settings.json", "{ broken")
    assert line(user.fails("doctor"), "Qwen Code", "not valid JSON").startswith("fail")


def test_an_mcp_entry_for_another_port_fails(user: User, installed: Installed, configure: Configure) -> None:
    user.run("install", "qwen")
    configure(port=1)
    assert line(user.fails("doctor"), "Qwen Code", "MCP asks").startswith("fail")


def test_an_mcp_entry_without_a_token_fails_once_authentication_is_on(
    user: User, installed: Installed, configure: Configure
) -> None:
    user.run("install", "qwen")
    configure(token="secret")
    assert line(user.fails("doctor"), "Qwen Code", "sends no token").startswith("fail")
    user.run("install", "qwen")
    assert line(user.fails("doctor"), "Qwen Code", "MCP by HTTP").startswith("ok")


def test_stdio_without_a_service_is_told_to_capture_nothing(user: User, installed: Installed) -> None:
    user.run("install", "qwen", "--stdio")
    said = user.fails("doctor")
    assert line(said, "Qwen Code", "capture and inject nothing").startswith("fail")
    (installed.hook.parents[2] / "bin/memory-mcp").unlink()
    assert line(user.fails("doctor"), "MCP server", "is gone").startswith("fail")


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


def test_a_service_that_is_down_fails_with_its_cure(user: User) -> None:
    said = line(user.fails("doctor"), "No service answers")
    assert said.startswith("fail")
    assert "memory-mcp install service" in said


def test_what_listens_without_answering_is_named(
    user: User, configure: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "SECONDS", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as hung:
        port = hung.getsockname()[1]
        configure(port=port)
        said = line(user.fails("doctor"), "does not answer within")
        assert said.startswith("fail")
        if sys.platform == "linux":
            assert f"pid {os.getpid()}" in said
            assert holder(port).startswith(f"pid {os.getpid()}, ")


@pytest.mark.parametrize("body", [b"<html>hello", b'{"status": "ok"}', b"[]"])
def test_another_program_at_the_port_is_named(user: User, configure: Configure, body: bytes) -> None:
    with answering(200, body) as port:
        configure(port=port)
        said = line(user.fails("doctor"), "is held by another program")
        assert said.startswith("fail")
        assert "MEMORY_PORT" in said


def test_a_service_that_is_up_is_fine(user: User, configure: Configure) -> None:
    with answering(200, json.dumps(HEALTH).encode()) as port:
        configure(port=port)
        said = user.run("doctor")
        assert line(said, "The service answers").startswith("ok")
        assert line(said, "Authentication is off").startswith("ok")
        assert "fail" not in said


def test_what_the_service_says_about_itself_is_heard(user: User, configure: Configure) -> None:
    ill = {**HEALTH, "version": "0.0.1", "database": "failed", "embedder": {"state": "failed", "name": "minilm"}}
    with answering(200, json.dumps(ill).encode()) as port:
        configure(port=port)
        said = user.fails("doctor")
    assert line(said, "version 0.0.1, installed").startswith("warn")
    assert line(said, "its database is failed").startswith("fail")
    assert line(said, "minilm failed").startswith("fail")


def test_the_token_of_the_shell_is_tried(user: User, configure: Configure, monkeypatch: pytest.MonkeyPatch) -> None:
    with answering(200, json.dumps(HEALTH).encode(), needs="right") as port:
        configure(port=port, token="")
        assert line(user.fails("doctor"), "token of this shell is missing").startswith("fail")
        monkeypatch.setenv("MEMORY_PLUGIN_TOKEN", "wrong")
        assert line(user.fails("doctor"), "token of this shell is not accepted").startswith("fail")
        monkeypatch.setenv("MEMORY_PLUGIN_TOKEN", "right")
        assert line(user.run("doctor"), "the token that clients use is right").startswith("ok")


def test_the_file_that_publishes_the_address_is_looked_at(user: User, configure: Configure, free_port: int) -> None:
    path = user.home / ".local/share/memory-mcp/memory.db.server.json"
    url = f"http://127.0.0.1:{free_port}"
    named = {"url": url, "mcp_url": f"{url}/mcp", "port": free_port, "pid": os.getpid()}
    user.write(str(path), json.dumps(named)).chmod(0o644)
    assert line(user.fails("doctor"), "readable by others").startswith("fail")
    path.chmod(0o600)
    assert line(user.fails("doctor"), "is published").startswith("ok")
    path.write_text(json.dumps({**named, "pid": 2**22 + 1}))
    assert line(user.fails("doctor"), "was killed").startswith("warn")
    with answering(200, json.dumps({**HEALTH, "pid": 1}).encode()) as port:
        path.write_text(json.dumps({**named, "url": f"http://127.0.0.1:{port}"}))
        assert line(user.run("doctor"), "pid 1 answers").startswith("warn")
        path.unlink()
        configure(port=port)
        assert line(user.run("doctor"), "is missing").startswith("warn")
    configure(discovery_file="off")
    assert line(user.fails("doctor"), "MEMORY_DISCOVERY_FILE").startswith("warn")


def test_texts_that_wait_are_counted(user: User) -> None:
    user.write(".local/share/memory-mcp/memory.db.spool.jsonl", "{}\n{}\n")
    user.write(".local/share/memory-mcp/memory.db.spool.draining", "{}\n")
    assert line(user.fails("doctor"), "3 texts").startswith("warn")


def test_a_model_that_is_not_there_fails(user: User, configure: Configure) -> None:
    configure(model_path=user.home / "no.gguf")
    assert line(user.fails("doctor"), "no.gguf").startswith("fail")


@pytest.mark.django_db
def test_a_file_that_is_no_database_fails(user: User) -> None:
    path = user.write(".local/share/memory-mcp/memory.db", "not a database")
    assert line(user.fails("doctor"), str(path), "not a SQLite database").startswith("fail")
    assert path.read_text() == "not a database"


def test_programs_can_read_it(user: User, installed: Installed) -> None:
    user.run("install", "qwen")
    said = user.fails("doctor", "--json")
    found = json.loads(said[: said.rindex("}") + 1])
    assert found["ok"] is False
    assert {one["level"] for one in found["findings"]} >= {"ok", "fail"}
    assert all(one["cure"] for one in found["findings"] if one["level"] != "ok")


def test_doctor_leaves_nothing_behind(user: User) -> None:
    user.fails("doctor")
    assert not list(user.home.iterdir())


def test_hooks_by_hand_over_http_and_commands_that_no_shell_reads(user: User, installed: Installed) -> None:
    by_hand = {"type": "http", "url": "http://127.0.0.1:8765/hook/claude?event=PreCompact"}
    broken = {"type": "command", "command": "'memsite/hook.py claude SessionStart"}
    user.write(".claude/settings.json", json.dumps({"hooks": {"PreCompact": [{"hooks": [by_hand, broken]}]}}))
    said = user.fails("doctor")
    assert line(said, "cannot be read").startswith("fail")
    missing = line(said, "no hook for")
    assert "PreCompact" not in missing
    assert "SessionStart" not in missing


def test_opencode_without_or_with_two_plugins_is_a_warning(user: User, installed: Installed) -> None:
    user.run("install", "opencode")
    path = user.home / ".config/opencode/opencode.json"
    whole = json.loads(path.read_text())
    path.write_text(json.dumps({**whole, "plugin": [*whole["plugin"], "memsite-opencode"]}))
    assert line(user.fails("doctor"), "opencode", "2 plugins").startswith("warn")
    path.write_text(json.dumps({**whole, "plugin": []}))
    assert line(user.fails("doctor"), "opencode", "no plugin").startswith("warn")
    path.write_text(json.dumps({**whole, "plugins": [{"package": "memsite-opencode"}], "plugin": []}))
    assert "plugins of ours" not in user.fails("doctor")


def test_a_service_that_is_up_and_then_fails_is_not_fine(
    user: User, configure: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = serving._get

    def half(url: str, path: str, token: str) -> tuple[int, bytes]:
        if path != "/health":
            raise ConnectionResetError
        return asked(url, path, token)

    monkeypatch.setattr(serving, "_get", half)
    with answering(200, json.dumps(HEALTH).encode()) as port:
        configure(port=port)
        assert line(user.fails("doctor"), "not /api/stats").startswith("fail")


def test_an_agent_program_that_cannot_be_started_is_only_a_warning(user: User, installed: Installed) -> None:
    user.run("install", "codex", "kimi")
    user.has("codex").write_bytes(b"no program")
    user.has("kimi").write_bytes(b"no program")
    said = user.fails("doctor")
    assert line(said, "Codex", "trust").startswith("warn")
    assert "kimi doctor" not in said


def test_where_there_is_no_proc_lsof_is_asked(user: User, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(ports, "PROC", tmp_path / "no-proc")
    assert holder(1) == ""
    user.has("lsof", "exit 1")
    assert holder(1) == ""
    user.has("lsof", "echo 4711")
    assert holder(1) == "pid 4711"
