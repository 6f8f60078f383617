"""The real opencode, offline, with our plugin in its settings."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any
from urllib import request

from tests.opencode_plugin.model import Model
from tests.service import Home, until

PLUGIN = Path(__file__).parents[2] / "opencode-plugin"
LISTENING = re.compile(r"listening on (http://\S+)")
MODEL = {"providerID": "mock", "modelID": "mock"}


class Opencode:
    """`opencode serve` in a user's home, spoken to as its own screen does."""

    def __init__(self, binary: Path, home: Home, model: Model) -> None:
        self._binary, self._home, self._model = binary, home, model
        self._process: subprocess.Popen[bytes] | None = None
        self._url = ""

    @property
    def log(self) -> Path:
        return self._home.path / "opencode.log"

    def start(self, **options: Any) -> None:
        """Serve, with these options of the plugin."""
        self._configure(options)
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                [self._binary, "serve", "--port", "0"],
                cwd=self._folder(),
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        found = until(lambda: LISTENING.search(self.log.read_text("utf-8", "replace")), seconds=120)
        self._url = found[1] if found else ""

    def new_session(self) -> str:
        return str(self._post("/session", {})["id"])

    def say(self, session: str, text: str) -> None:
        self._post(f"/session/{session}/message", {"model": MODEL, "parts": [{"type": "text", "text": text}]})

    def compact(self, session: str) -> None:
        assert self._post(f"/session/{session}/summarize", MODEL) is True

    def take_back(self, session: str) -> None:
        """Undo the newest prompt, as /undo does."""
        with request.urlopen(f"{self._url}/session/{session}/message", timeout=60) as answer:
            prompts = [one["info"]["id"] for one in json.load(answer) if one["info"]["role"] == "user"]
        self._post(f"/session/{session}/revert", {"messageID": prompts[-1]})

    def close(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(timeout=20)

    def _post(self, path: str, body: object) -> Any:
        headers = {"Content-Type": "application/json"}
        asked = request.Request(self._url + path, json.dumps(body).encode(), headers)
        with request.urlopen(asked, timeout=120) as answer:
            return json.load(answer)

    def _folder(self) -> Path:
        folder = self._home.path / "work"
        folder.mkdir(exist_ok=True)
        return folder

    def _environment(self) -> dict[str, str]:
        nothing = "http://127.0.0.1:9"  # a registry that refuses at once: opencode goes on without it
        switches = ("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS")
        offline = {f"OPENCODE_DISABLE_{name}": "1" for name in switches}
        npm = {"npm_config_fetch_retries": "0", "npm_config_registry": nothing}
        home = {name: value for name, value in self._home.environment().items() if not name.startswith("OPENCODE")}
        return {**home, **offline, **npm, "PWD": str(self._folder())}

    def _configure(self, options: dict[str, Any]) -> None:
        provider = {
            "npm": "@ai-sdk/openai-compatible",
            "options": {"baseURL": self._model.url, "apiKey": "none"},
            "models": {"mock": {"tool_call": True, "limit": {"context": 200_000, "output": 8192}}},
        }
        settings = {
            "autoupdate": False,
            "share": "disabled",
            "lsp": False,
            "formatter": False,
            "model": "mock/mock",
            "small_model": "mock/mock",
            "enabled_providers": ["mock"],
            "provider": {"mock": provider},
            "plugin": [[PLUGIN.as_uri(), options]],
        }
        file = self._home.path / ".config/opencode/opencode.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(settings))
