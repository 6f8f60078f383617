import hashlib
import os
from argparse import ArgumentParser
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from memsite.install import kept_settings

PIECE = 1 << 20


@dataclass(frozen=True)
class Source:
    repository: str
    file: str


SOURCES = {
    "qwen3": Source("Qwen/Qwen3-Embedding-0.6B-GGUF", "Qwen3-Embedding-0.6B-Q8_0.gguf"),
    "minilm": Source("second-state/All-MiniLM-L6-v2-Embedding-GGUF", "all-MiniLM-L6-v2-Q8_0.gguf"),
    "bge-small-en": Source("CompendiumLabs/bge-small-en-v1.5-gguf", "bge-small-en-v1.5-q8_0.gguf"),
    "nomic": Source("nomic-ai/nomic-embed-text-v1.5-GGUF", "nomic-embed-text-v1.5.Q8_0.gguf"),
    "embeddinggemma": Source("ggml-org/embeddinggemma-300M-GGUF", "embeddinggemma-300M-Q8_0.gguf"),
}


class Command(BaseCommand):
    help = "Fetch an embedding model from Hugging Face (or HF_ENDPOINT) and use it from the next start on."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("model", nargs="?", default="qwen3", choices=sorted(SOURCES), help="default: qwen3")

    def handle(self, *, model: str, **_options: Any) -> None:
        path = download(SOURCES[model], settings.MEMORY.database.parent / "models")
        file = kept_settings.save(os.environ, {"model_path": str(path)})
        self.stdout.write(
            f"{path} is used from the next start on ({file}); `memory-mcp backfill` embeds what is stored."
        )


def download(source: Source, folder: Path) -> Path:
    """The file, whole and with the checksum that the hub names; a broken-off download is resumed."""
    try:
        from huggingface_hub import get_hf_file_metadata, hf_hub_download, hf_hub_url  # noqa: PLC0415 - an extra
    except ImportError:
        raise CommandError("download_model needs huggingface_hub: pip install 'memsite[embed]'.") from None
    try:
        expected = get_hf_file_metadata(hf_hub_url(source.repository, source.file)).etag or ""
        path = Path(hf_hub_download(source.repository, source.file, local_dir=folder))
    except Exception as error:  # noqa: BLE001 - of the hub, the network, or the disk
        raise CommandError(f"{source.repository} cannot be downloaded: {error}".splitlines()[0]) from None
    if len(expected) == 64 and sha256(path) != expected:  # what is in large-file storage is named by its SHA-256
        path.unlink()
        raise CommandError(f"{path.name} arrived damaged and was removed; try again.")
    return path


def sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(PIECE):
            digest.update(piece)
    return digest.hexdigest()
