"""Where a model runs: on a GPU only if it is really there; what a GPU cannot do, the CPU does."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from memories.embedders import EmbeddingFailed
from memories.embedders.llama import LlamaEmbedder
from memories.gguf import holds_gpu_memory, on_device
from tests.memories.embedders import fakes

GPU, CPU = -1, 0


@pytest.fixture
def smi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """An `nvidia-smi` of one's own, and no other."""
    monkeypatch.setenv("PATH", str(tmp_path))

    def install(script: str) -> None:
        path = tmp_path / "nvidia-smi"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    return install


@pytest.fixture
def gguf(tmp_path: Path) -> Path:
    path = tmp_path / "fake.gguf"
    path.write_bytes(b"GGUF")
    return path


def opened_on(device: str) -> tuple[list[int], str]:
    opened: list[int] = []
    _, used = on_device(device, opened.append, what="it")
    return opened, used


def test_the_cpu_is_not_tried_on_the_gpu() -> None:
    assert opened_on("cpu") == ([CPU], "cpu")


def test_a_gpu_that_holds_the_model(smi: Callable[[str], None]) -> None:
    smi(f"echo 1; echo {os.getpid()}")
    assert opened_on("cuda") == ([GPU], "cuda")


@pytest.mark.parametrize("script", ["echo 1", "echo 1$PPID", "echo No devices were found; exit 6", "exit 0"])
def test_a_gpu_that_does_not_hold_the_model(smi: Callable[[str], None], script: str) -> None:
    smi(script)
    assert opened_on("cuda") == ([GPU, CPU], "cpu")


@pytest.mark.usefixtures("smi")
def test_no_nvidia_smi() -> None:
    assert opened_on("cuda") == ([GPU, CPU], "cpu")


def test_an_nvidia_smi_that_hangs(smi: Callable[[str], None], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memories.gguf.SMI_SECONDS", 0.1)
    smi("while :; do :; done")
    assert not holds_gpu_memory(os.getpid())


def test_an_nvidia_smi_that_cannot_run(smi: Callable[[str], None], tmp_path: Path) -> None:
    smi("exit 0")
    (tmp_path / "nvidia-smi").write_bytes(b"\x7fELF no program")
    assert not holds_gpu_memory(os.getpid())


def test_a_driver_that_raises() -> None:
    opened = []

    def open_on(layers: int) -> str:
        opened.append(layers)
        if layers:
            raise OSError("libcuda.so.1: no such file")
        return "model"

    assert on_device("cuda", open_on, what="it") == ("model", "cpu")
    assert opened == [GPU, CPU]


def test_a_model_that_no_device_runs_is_the_callers_error() -> None:
    def open_on(layers: int) -> None:
        raise ValueError(layers)

    with pytest.raises(ValueError, match="0"):
        on_device("cuda", open_on, what="it")


def on_gpu(gguf: Path) -> LlamaEmbedder:
    embedder = LlamaEmbedder(gguf, device="cuda")
    embedder.documents(["probe"], patience=20)
    assert embedder.device == "cuda"
    return embedder


@pytest.fixture
def listed(smi: Callable[[str], None]) -> None:
    smi(f"echo {os.getpid()}")


def lost(layers: int, texts: list[str]) -> list[list[float]]:
    if layers:
        raise RuntimeError("CUDA error: out of memory")
    return [[3.0, 4.0] for _ in texts]


@pytest.mark.usefixtures("listed")
def test_a_gpu_that_fails_later_is_left_for_the_cpu(gguf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = fakes.install(monkeypatch)
    embedder = on_gpu(gguf)
    fake.rows = staticmethod(lost)
    assert embedder.documents(["a", "b"], patience=1).tolist() == [[pytest.approx(0.6), pytest.approx(0.8)]] * 2
    assert embedder.device == "cpu"
    assert embedder.state == "ready"
    assert embedder.query("c", patience=1).shape == (1, 2)
    assert fake.opened == [GPU, CPU]


@pytest.mark.usefixtures("listed")
def test_what_fails_on_the_cpu_too_is_no_vector(gguf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = fakes.install(monkeypatch)
    embedder = on_gpu(gguf)
    fake.rows = staticmethod(lambda layers, texts: lost(-1, texts) if texts == ["bad"] else lost(layers, texts))
    with pytest.raises(EmbeddingFailed):
        embedder.documents(["bad"], patience=1)
    assert embedder.documents(["good"], patience=1).shape == (1, 2)
    assert fake.opened == [GPU, CPU]


@pytest.mark.usefixtures("listed")
def test_a_cpu_that_cannot_take_over_is_no_vector(gguf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = fakes.install(monkeypatch)
    embedder = on_gpu(gguf)
    fake.rows = staticmethod(lost)

    def no_memory(layers: int) -> None:
        if not layers:
            raise ValueError("Failed to create llama_context")

    fake.open = staticmethod(no_memory)
    with pytest.raises(EmbeddingFailed):
        embedder.documents(["a"], patience=1)
    fake.open = staticmethod(lambda _: None)
    assert embedder.documents(["a"], patience=1).shape == (1, 2)
