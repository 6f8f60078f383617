"""GGUF files: what they say of themselves, and on which device they run. Of llama-cpp-python, an extra."""

import logging
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

EVERY_LAYER = -1
SMI_SECONDS = 5.0

logger = logging.getLogger(__name__)


def metadata(path: Path) -> Mapping[str, str]:
    """The key-value pairs of a file. Raises ImportError without llama-cpp-python, ValueError for what is no GGUF."""
    # Threads that wait for work by spinning starve each other where other programs use the cores.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    from llama_cpp import Llama  # noqa: PLC0415 - an extra, and slow to import

    found: Mapping[str, str] = Llama(model_path=str(path), vocab_only=True, verbose=False).metadata
    return found


def context_length(found: Mapping[str, str], *, most: int) -> int:
    """Tokens that the model was trained for, `most` if it does not say or says more."""
    return min(int(found.get(f"{found.get('general.architecture')}.context_length", most)), most)


def on_device(device: str, open_on: Callable[[int], Any], *, what: str) -> tuple[Any, str]:
    """A model and where it is: on the GPU only if that is wanted, works, and is seen in the GPU's memory."""
    if device == "cuda":
        try:
            model = open_on(EVERY_LAYER)
            if holds_gpu_memory(os.getpid()):
                return model, "cuda"
            logger.warning("The GPU does not hold %s, it runs on the CPU", what)
        except Exception as error:  # noqa: BLE001 - whatever a driver raises
            logger.warning("The GPU cannot run %s, it runs on the CPU: %s", what, error)
    return open_on(0), "cpu"


def holds_gpu_memory(pid: int) -> bool:
    """Whether nvidia-smi lists a process among those that hold memory of a GPU."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return False
    command = [program, "--query-compute-apps=pid", "--format=csv,noheader"]
    try:
        listed = subprocess.run(command, capture_output=True, text=True, timeout=SMI_SECONDS, check=True)  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return False
    return str(pid) in listed.stdout.split()
