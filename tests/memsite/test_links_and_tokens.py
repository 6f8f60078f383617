"""Login links and tokens, as users ask for them at a terminal."""

import contextlib
import os
import pty
import re
import signal
import subprocess

import pytest

from tests.service import COMMAND, Home, Service, one_line


@pytest.mark.server
def test_the_first_start_shows_a_login_link_on_a_terminal_only(home: Home) -> None:
    def shown() -> str:
        terminal, end = pty.openpty()
        out = home.path / "out"
        with out.open("wb") as stdout:
            process = subprocess.Popen(COMMAND, env=home.environment(), stdout=stdout, stderr=end)
        os.close(end)
        Service(process, out, out).line  # noqa: B018 - waits
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
        text = b""
        with contextlib.suppress(OSError):  # the end of a terminal
            while part := os.read(terminal, 4096):
                text += part
        os.close(terminal)
        return text.decode()

    assert re.search(r"http://127\.0\.0\.1:\d+/admin/link/\?sesame=\S+", shown())
    assert "sesame" not in shown()


@pytest.mark.server
@pytest.mark.usefixtures("settled")
def test_a_login_link_opens_the_admin_once(home: Home) -> None:
    running = home.start()
    url = running.line["url"]
    link = home.run("loginlink").stdout.strip()
    assert link.startswith(f"{url}/admin/link/?sesame=")
    target = link.removeprefix(url)
    assert running.get(target)[0] == 302
    assert running.get(target)[0] == 403
    running.end()
    assert "sesame=" not in running.log + running.out.read_text()


@pytest.mark.server
@pytest.mark.usefixtures("settled")
def test_a_login_link_without_a_service_names_the_configured_address(home: Home) -> None:
    link = home.run("loginlink", MEMORY_PORT="8765").stdout
    assert link.startswith("http://127.0.0.1:8765/admin/link/?sesame=")
    assert "nobody" in one_line(home.run("loginlink", "nobody", MEMORY_PORT="8765"))
    assert "No service runs" in one_line(home.run("loginlink"))


@pytest.mark.server
@pytest.mark.usefixtures("settled")
def test_tokens_are_created_listed_and_revoked(home: Home) -> None:
    created = home.run("token", "create", "ci", "--scope", "a", "--scope", "b", "--read-only", "--maintain")
    token = created.stdout.strip()
    assert re.fullmatch(r"memsite_[\w-]{43}", token)
    listed = home.run("token", "list").stdout
    assert token not in listed
    assert listed == "ci\tread-only\tmaintain\tscopes: a, b\tnever used\n"
    assert home.run("token", "create", "ci").returncode == 1
    assert home.run("token", "create", " ").returncode == 1
    assert home.run("token", "revoke", "ci").returncode == 0
    assert "\trevoked\t" in home.run("token", "list").stdout
    assert "ci" in one_line(home.run("token", "revoke", "ci"))


@pytest.mark.server
@pytest.mark.usefixtures("settled")
def test_a_reader_that_leaves_is_no_error(home: Home) -> None:
    home.run("token", "create", "ci")
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as closed:
        result = subprocess.run(
            [*COMMAND, "token", "list"],
            env=home.environment(),
            stdout=closed,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert result.stderr == b""
