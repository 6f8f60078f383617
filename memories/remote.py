"""A server that speaks OpenAI's API and that the user named. Nothing else is ever sent anything."""

import threading
from typing import Any

NO_KEY = "none"
"""Local servers want some key; a key of the environment that was meant for others is never sent."""


class Remote:
    """Its client is made at the first use: the package is an extra, and slow to import."""

    def __init__(self, url: str, *, api_key: str) -> None:
        self.url, self._key = url, api_key
        self._lock = threading.Lock()
        self._client: Any = None

    def client(self) -> Any:
        """It tries nothing twice. Raises ImportError without the openai package."""
        with self._lock:
            if self._client is None:
                self._client = self._connected()
            return self._client

    def close(self) -> None:
        if self._client is not None:
            self._client.close()

    def _connected(self) -> Any:
        from openai import Omit, OpenAI  # noqa: PLC0415 - an extra

        # Omit() is more than its annotation allows: headers of the user's other keys stay here.
        foreign: Any = dict.fromkeys(("OpenAI-Organization", "OpenAI-Project"), Omit())
        return OpenAI(base_url=self.url, api_key=self._key or NO_KEY, default_headers=foreign, max_retries=0)


def status_of(error: Exception) -> int:
    """The HTTP status that a server answered with; 0 if it did not answer."""
    return int(getattr(error, "status_code", 0) or 0)


def blame(error: Exception) -> str:
    """An error by its type and status, without the server's words: they may quote what was sent."""
    status = status_of(error)
    return f"{type(error).__name__} (status {status})" if status else type(error).__name__
