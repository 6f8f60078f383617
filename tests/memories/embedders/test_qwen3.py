"""A model of the Qwen3 architecture: tiny and random, for how it is used is what counts."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from memories.embedders.llama import LlamaEmbedder
from memories.embedders.profiles import PROFILES
from tests.memories.embedders.conftest import loaded

PREFIX = next(one.query_prefix for one in PROFILES if one.name == "qwen3")


def row(embedder: LlamaEmbedder, text: str) -> "np.ndarray[tuple[int], np.dtype[np.float32]]":
    return embedder.documents([text], patience=1)[0]


def test_its_metadata_name_it_whatever_its_file_is_called(qwen3_path: Path, tmp_path: Path) -> None:
    path = tmp_path / "minilm-renamed.gguf"
    shutil.copyfile(qwen3_path, path)
    embedder = loaded(path)
    assert embedder.name == "minilm-renamed"
    assert embedder.profile.name == "qwen3"
    assert embedder.identity == f"Qwen3 Embedding 0.6B:{path.stat().st_size}:64"


def test_the_last_token_stands_for_the_text(qwen3: LlamaEmbedder) -> None:
    """With a causal mask and last pooling, only what comes after another token knows of it."""
    from llama_cpp import LLAMA_POOLING_TYPE_LAST, LLAMA_POOLING_TYPE_MEAN, Llama

    assert qwen3._model.pooling_type() == LLAMA_POOLING_TYPE_LAST
    mean = Llama(
        model_path=str(qwen3._path), embedding=True, pooling_type=LLAMA_POOLING_TYPE_MEAN, n_ctx=256, verbose=False
    )
    by_mean = np.asarray(mean.embed("the cap is 1k", normalize=True), dtype=np.float32)
    assert float(row(qwen3, "the cap is 1k") @ by_mean) < 0.99
    every = Llama(model_path=str(qwen3._path), embedding=True, pooling_type=0, n_ctx=256, verbose=False)
    last = np.asarray(every.embed("the cap is 1k"), dtype=np.float32)[-1]
    assert float(row(qwen3, "the cap is 1k") @ last) / np.linalg.norm(last) == pytest.approx(1, abs=1e-3)


def test_another_last_token_is_another_vector(qwen3: LlamaEmbedder) -> None:
    one, other, again = (row(qwen3, text) for text in ("the cap is 1", "the cap is 2", "the cap is 1"))
    assert float(one @ other) < 0.99
    assert float(one @ again) == pytest.approx(1, abs=1e-5)


def test_a_batch_gives_what_single_texts_give(qwen3: LlamaEmbedder) -> None:
    texts = [f"number {number} of many" for number in range(40)]
    together = qwen3.documents(texts, patience=1)
    assert min(float(one @ row(qwen3, text)) for one, text in zip(together, texts, strict=True)) > 0.999


def test_only_queries_carry_the_instruction(qwen3: LlamaEmbedder) -> None:
    assert PREFIX.startswith("Instruct: ")
    query = qwen3.query("where is it", patience=1)[0]
    assert float(query @ row(qwen3, f"{PREFIX}where is it")) == pytest.approx(1, abs=1e-4)
    assert float(query @ row(qwen3, "where is it")) < 0.999


def test_documents_are_embedded_as_they_are(qwen3: LlamaEmbedder, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    embed = qwen3._embed
    monkeypatch.setattr(qwen3, "_embed", lambda texts, patience: seen.extend(texts) or embed(texts, patience))
    qwen3.documents(["as it is"], patience=1)
    qwen3.query("never asked before", patience=1)
    assert seen == ["as it is", f"{PREFIX}never asked before"]
