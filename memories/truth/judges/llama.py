"""A local GGUF instruct model through llama-cpp-python: loaded when it is first asked, once a process."""

import json
import logging
import time
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from memories import gguf
from memories.truth.judges.asking import LONGEST_ANSWER, LONGEST_REASON, Asking, Question
from memories.truth.judges.base import JudgeAway, JudgeFailed
from memories.truth.judges.bounded import LATE, Bounded

MOST_TOKENS = 4096
"""Of prompt and answer."""
MOST_ANSWERED = 1024
LEAST_ANSWERED = 128

logger = logging.getLogger(__name__)


class LlamaJudge(Asking):
    """A GGUF file. It answers one question at a time; the grammar leaves it nothing but JSON to say."""

    def __init__(self, path: Path, *, device: str = "cpu") -> None:
        super().__init__(f"llama:{path.stem}")
        self._path, self._device = path, device
        self._bounded = Bounded(places=1)
        self._model: Any = None
        self._failure = ""

    def ask(self, question: Question, *, patience: float) -> str:
        if self._failure:
            raise JudgeAway(self._failure)
        return self._bounded.run(partial(self._answer, question), patience=patience)

    def _answer(self, question: Question, deadline: float) -> str:
        """Alone in the process: `Bounded` has one place."""
        if self._model is None:
            self._load()
        try:
            return self._generate(question, deadline)
        except JudgeFailed:
            raise
        except Exception as error:
            raise JudgeFailed(f"The judge's model failed: {error}.") from error

    def _generate(self, question: Question, deadline: float) -> str:
        """Token by token up to the end of the object, so that it ends soon after whoever asked has gone."""
        from llama_cpp.llama_grammar import LlamaGrammar  # noqa: PLC0415

        model = self._model
        prompt = model.tokenize(_prompt(model, question).encode(), add_bos=False, special=True)
        room = min(MOST_ANSWERED, model.n_ctx() - len(prompt))
        if room < LEAST_ANSWERED:
            raise JudgeFailed("The texts are too long for the judge's model.")
        grammar = LlamaGrammar.from_json_schema(json.dumps(_bounded_schema(question)), verbose=False)
        answer = b""
        for token in islice(model.generate(prompt, temp=0.0, grammar=grammar), room):
            if time.monotonic() > deadline:
                raise JudgeFailed(LATE)
            answer += model.detokenize([token], prev_tokens=prompt)
            if answer.endswith(b"}") and _is_json(answer):
                break
        return answer.decode(errors="replace")

    def _load(self) -> None:
        try:
            self._model = self._open()
        except ImportError:
            self._failure = "MEMORY_JUDGE='llama' needs llama-cpp-python: pip install 'memsite[embed]'."
        except Exception as error:  # noqa: BLE001 - whatever the file is
            self._failure = f"The judge's model {self._path} cannot be loaded: {error}."
        if self._failure:
            logger.error("%s", self._failure)
            raise JudgeAway(self._failure)

    def _open(self) -> Any:
        tokens = gguf.context_length(gguf.metadata(self._path), most=MOST_TOKENS)
        from llama_cpp import Llama  # noqa: PLC0415 - an extra, and slow to import

        def open_on(layers: int) -> Any:
            model = Llama(model_path=str(self._path), n_ctx=tokens, n_gpu_layers=layers, verbose=False)
            model.create_completion("probe", max_tokens=1)
            return model

        return gguf.on_device(self._device, open_on, what="the judge")[0]


def _prompt(model: Any, question: Question) -> str:
    """The messages as the model's own template has them; some templates know no system message."""
    from llama_cpp import llama_chat_format as chat  # noqa: PLC0415

    bos, eos = (
        model.detokenize([token], special=True).decode(errors="replace") if token >= 0 else ""
        for token in (model.token_bos(), model.token_eos())
    )
    template = model.metadata.get("tokenizer.chat_template") or chat.CHATML_CHAT_TEMPLATE
    formatter = chat.Jinja2ChatFormatter(template, eos_token=eos, bos_token=bos)
    both: Any = question.messages
    alone: Any = [{"role": "user", "content": f"{question.system}\n\n{question.user}"}]
    try:
        return str(formatter(messages=both).prompt)
    except Exception:  # noqa: BLE001 - whatever a template raises
        return str(formatter(messages=alone).prompt)


def _is_json(answer: bytes) -> bool:
    try:
        json.loads(answer, strict=False)
    except (ValueError, RecursionError):
        return False
    return True


def _bounded_schema(question: Question) -> dict[str, Any]:
    """The schema with an end to every text: a small model does not find one by itself."""
    schema = question.schema
    longest = LONGEST_REASON if question.name == "verdict" else LONGEST_ANSWER
    schema["properties"] = {
        name: member if "enum" in member else member | {"maxLength": longest}
        for name, member in question.members.items()
    }
    return schema
