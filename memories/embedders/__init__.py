"""The embedding model of this process, if there is one."""

import threading
from dataclasses import dataclass

from memories.conf import MemorySettings, config
from memories.embedders.base import Embedder, EmbeddingFailed, State, Vectors

__all__ = ["Embedder", "EmbeddingFailed", "Vectors", "current", "describe"]

_lock = threading.Lock()
_made: tuple[MemorySettings, Embedder | None] | None = None


def current() -> Embedder | None:
    """The embedder that the settings name; None while there are only keywords. Made once."""
    global _made  # noqa: PLW0603 - one model a process
    settings = config()
    with _lock:
        if _made is None or _made[0] is not settings:
            _made = (settings, _make(settings))
        return _made[1]


@dataclass(frozen=True)
class Description:
    """The embedder in words; `calibration` says what relevance rests on."""

    name: str = "none"
    state: State = "off"
    device: str | None = None
    calibration: str = "keywords"


def describe() -> Description:
    """What embeds in this process. Loads nothing."""
    embedder = current()
    if embedder is None:
        return Description()
    profile = embedder.profile
    calibration = profile.name if profile.calibrated else f"{profile.name} (uncalibrated)"
    return Description(embedder.name, embedder.state, embedder.device, calibration)


def _make(settings: MemorySettings) -> Embedder | None:
    if settings.embed_url:
        from memories.embedders.http import HttpEmbedder  # noqa: PLC0415 - only where it is asked for

        return HttpEmbedder(settings.embed_url, model=settings.embed_model, api_key=settings.embed_api_key)
    if settings.model is not None:
        from memories.embedders.llama import LlamaEmbedder  # noqa: PLC0415

        return LlamaEmbedder(settings.model, device=settings.device)
    return None
