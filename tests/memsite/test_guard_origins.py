"""Which hosts are answered, and from which pages a browser may ask."""

from collections.abc import Callable
from typing import Any

import pytest

from memsite.guard import is_loopback
from tests.memsite.guarded import JSON, ask

pytestmark = pytest.mark.usefixtures("authentication")
EVIL = "https://evil.example"


ROUTES = ["/", "/health", "/ingest", "/recall", "/mcp", "/admin/", "/static/admin/css/base.css", "/api/stats"]


@pytest.mark.parametrize("path", ROUTES)
@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8765",
        "127.0.0.1.nip.io:8765",
        "localhost.evil.example",
        "localhost.",
        "localhost:99@evil.example",
        "evil.example@localhost",
        "user:pw@localhost:8765",
        "localhost:8765:8765",
        "localhost:",
        "localhost:abc",
        "localhost/evil",
        "localhost evil",
        "127.0.0.1,evil.example",
        "[::1",
        "::1",
        "[::1]x",
        "[::2]",
        "0.0.0.0:8765",
        "127.0.0.2",
        "192.168.1.5:8765",
        "",
        None,
    ],
)
def test_a_foreign_host_is_refused_on_every_route(path: str, host: str | None) -> None:
    answer = ask(path=path, host=host)
    assert (answer.status, answer.code) == (421, "host_not_allowed")


@pytest.mark.parametrize("path", ROUTES)
@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:8765", "localhost", "LocalHost:8765", "[::1]", "[::1]:8765"])
def test_the_names_of_this_machine_are_answered(path: str, host: str) -> None:
    assert ask(path=path, host=host).status == 200


def test_two_host_headers_are_refused() -> None:
    assert ask(headers=[("host", "127.0.0.1:8765")]).status == 421
    assert ask(headers=[("host", "evil.example")]).status == 421


@pytest.mark.parametrize(
    ("fields", "host", "status"),
    [
        ({"host": "box.lan"}, "box.lan:8765", 200),
        ({"host": "0.0.0.0"}, "0.0.0.0:8765", 421),
        ({"host": "::"}, "[::]:8765", 421),
        ({"host": "fd00::5"}, "[FD00::5]:8765", 200),
        ({"allowed_hosts": ("Memory.lan", "fd00::6")}, "memory.lan", 200),
        ({"allowed_hosts": ("Memory.lan", "fd00::6")}, "[fd00::6]:1", 200),
        ({"allowed_hosts": ("memory.lan",)}, "sub.memory.lan", 421),
        ({"allowed_hosts": ("*",)}, "evil.example", 421),
    ],
)
def test_configured_hosts_are_answered(
    configure: Callable[..., None], fields: dict[str, Any], host: str, status: int
) -> None:
    configure(**fields)
    assert ask(host=host).status == status


@pytest.mark.parametrize(
    ("origin", "host", "status"),
    [
        ("http://127.0.0.1:8765", "127.0.0.1:8765", 200),
        ("https://127.0.0.1:8765", "127.0.0.1:8765", 200),
        ("http://localhost", "localhost", 200),
        ("http://localhost:8765", "127.0.0.1:8765", 403),
        ("http://127.0.0.1:3000", "127.0.0.1:8765", 403),
        ("http://127.0.0.1", "127.0.0.1:8765", 403),
        ("http://127.0.0.1:8765.evil.example", "127.0.0.1:8765", 403),
        ("http://127.0.0.1:8765/", "127.0.0.1:8765", 403),
        ("ftp://127.0.0.1:8765", "127.0.0.1:8765", 403),
        (EVIL, "127.0.0.1:8765", 403),
        ("null", "127.0.0.1:8765", 403),
        ("", "127.0.0.1:8765", 403),
    ],
)
@pytest.mark.parametrize("path", ["/ingest", "/admin/login/", "/health", "/mcp"])
def test_the_origin_must_be_the_host(path: str, origin: str, host: str, status: int) -> None:
    assert ask("POST", path, {"origin": origin, **JSON}, host=host, chunks=(b"{}",)).status == status


def test_one_foreign_origin_of_two_is_refused() -> None:
    assert ask(headers=[("origin", "http://127.0.0.1:8765"), ("origin", EVIL)]).status == 403


NAVIGATION = {"sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("GET", "/api/stats", {"sec-fetch-site": "same-origin"}, 200),
        ("GET", "/api/stats", {"sec-fetch-site": "none"}, 200),
        ("GET", "/api/stats", {"sec-fetch-site": "same-site"}, 403),
        ("GET", "/api/stats", {"sec-fetch-site": "cross-site"}, 403),
        ("GET", "/api/stats", {"sec-fetch-site": ""}, 403),
        ("GET", "/api/stats", {"sec-fetch-site": "cross-site", **NAVIGATION}, 403),
        ("GET", "/health", {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}, 403),
        ("GET", "/", {"sec-fetch-site": "cross-site", **NAVIGATION}, 200),
        ("GET", "/admin/", {"sec-fetch-site": "cross-site", **NAVIGATION}, 200),
        ("GET", "/admin/login/", {"sec-fetch-site": "same-site", **NAVIGATION}, 200),
        ("GET", "/admin/", {"sec-fetch-site": "cross-site", **NAVIGATION, "sec-fetch-dest": "iframe"}, 403),
        ("GET", "/admin/", {"sec-fetch-site": "cross-site", "sec-fetch-dest": "document"}, 403),
        ("GET", "/admin/", {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}, 403),
        ("POST", "/admin/", {"sec-fetch-site": "cross-site", **NAVIGATION}, 403),
        ("GET", "//admin/", {"sec-fetch-site": "cross-site", **NAVIGATION}, 403),
        ("GET", "/administrator", {"sec-fetch-site": "cross-site", **NAVIGATION}, 403),
    ],
)
def test_only_links_to_the_admin_may_come_from_other_sites(
    method: str, path: str, headers: dict[str, str], status: int
) -> None:
    assert ask(method, path, headers).status == status


@pytest.mark.parametrize("path", ["/ingest", "/recall", "/inject/report", "/mcp", "/api/memories/abc"])
@pytest.mark.parametrize("method", ["POST", "DELETE"])
@pytest.mark.parametrize(
    "content_type",
    [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/json",
    ],
)
def test_a_foreign_page_reaches_nothing(path: str, method: str, content_type: str) -> None:
    headers = {"origin": EVIL, "content-type": content_type}
    answer = ask(method, path, headers, chunks=(b'{"content": "x"}',))
    assert answer.status == 403
    assert answer.principal is None
    assert answer.received == 0


@pytest.mark.parametrize(
    ("address", "local"),
    [
        ("127.0.0.1", True),
        ("127.8.8.8", True),
        ("::1", True),
        ("::ffff:127.0.0.1", True),
        ("/run/socket", True),
        ("192.168.1.5", False),
        ("0.0.0.0", False),
        ("::", False),
        ("::ffff:10.0.0.1", False),
        ("fe80::1%eth0", False),
    ],
)
def test_which_addresses_are_of_this_machine_only(address: str, local: bool) -> None:
    assert is_loopback(address) is local
