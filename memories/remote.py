"""A client of a server that speaks OpenAI's API and that the user named. Nothing else is ever sent anything."""

from typing import Any

NO_KEY = "none"
"""Local servers want some key; a key of the environment that was meant for others is never sent."""


def client(url: str, *, api_key: str) -> Any:
    """It tries nothing twice. Raises ImportError without the openai package."""
    from openai import Omit, OpenAI  # noqa: PLC0415 - an extra

    # Omit() is more than its annotation allows: headers of the user's other keys stay here.
    foreign: Any = dict.fromkeys(("OpenAI-Organization", "OpenAI-Project"), Omit())
    return OpenAI(base_url=url, api_key=api_key or NO_KEY, default_headers=foreign, max_retries=0)
