"""`download_model` against a hub of our own, as HF_ENDPOINT allows."""

import hashlib
import threading
import tomllib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from memsite.management.commands.download_model import SOURCES
from tests.requirements import need
from tests.service import Home

CONTENT = b"GGUF" + bytes(range(256)) * 500
PATH = f"/{SOURCES['minilm'].repository}/resolve/main/{SOURCES['minilm'].file}"


class Hub(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    digest = hashlib.sha256(CONTENT).hexdigest()

    def do_HEAD(self) -> None:
        self._answer(send=False)

    def do_GET(self) -> None:
        self._answer(send=True)

    def _answer(self, *, send: bool) -> None:
        if self.path.split("?")[0] != PATH:
            self.send_response(404)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.send_response(200)
        self.send_header("ETag", f'"{self.digest}"')
        self.send_header("X-Repo-Commit", "0" * 40)
        self.send_header("Content-Length", str(len(CONTENT)))
        self.end_headers()
        if send:
            self.wfile.write(CONTENT)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    try:
        import huggingface_hub
    except ImportError:
        huggingface_hub = None  # type: ignore[assignment]
    need(huggingface_hub, "huggingface_hub (extra embed) is not installed")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def environment(home: Home, hub: str) -> dict[str, str]:
    return {"HF_ENDPOINT": hub, "HF_HOME": str(home.path / "hf"), "HF_HUB_DISABLE_XET": "1"}


@pytest.mark.server
def test_a_model_is_fetched_and_used_from_then_on(home: Home, hub: str) -> None:
    config = home.path / ".config/memory-mcp/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("# mine\nport = 0\n")
    result = home.run("download_model", "minilm", **environment(home, hub))
    assert result.returncode == 0, result.stderr
    model = home.data / "models" / SOURCES["minilm"].file
    assert model.read_bytes() == CONTENT
    assert tomllib.loads(config.read_text()) == {"port": 0, "model_path": str(model)}
    assert config.read_text().startswith("# mine\n")


@pytest.mark.server
def test_a_damaged_file_is_not_kept(home: Home, hub: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Hub, "digest", "0" * 64)
    result = home.run("download_model", "minilm", **environment(home, hub))
    assert result.returncode == 1
    assert "damaged" in result.stderr
    assert not list(home.data.glob("models/*.gguf"))


@pytest.mark.server
def test_a_model_that_the_hub_does_not_have_is_one_line(home: Home, hub: str) -> None:
    result = home.run("download_model", "nomic", **environment(home, hub))
    assert result.returncode == 1
    assert "cannot be downloaded" in result.stderr
    assert "Traceback" not in result.stderr
