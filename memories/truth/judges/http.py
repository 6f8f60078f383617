"""A model behind an OpenAI-compatible chat endpoint (OpenAI, Anthropic, Ollama, llama-server)."""

import json
import logging
import threading
import time
from collections import deque
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from memories import remote
from memories.truth.judges.asking import Asking, Question
from memories.truth.judges.base import JudgeAway, JudgeFailed
from memories.truth.judges.bounded import LATE, Bounded

AT_ONCE = 4
MOST_TOKENS = 4096
"""Of an answer, with what a model thinks before it."""
MOST_BYTES = 200_000
HOUR_SECONDS = 3600.0
QUIET_SECONDS = 30.0
"""After a failure nobody asks the server for so long, after each further one twice as long."""
LONGEST_QUIET_SECONDS = 600.0
REFUSED = frozenset({400, 422})
"""The request is not to the server's liking; other states say that nothing can be asked now."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Manner:
    """How a server wants to be asked; each of these some server refuses."""

    form: str = "json_schema"
    limit: str = "max_tokens"
    has_temperature: bool = True

    def without(self, complaint: str) -> "Manner | None":
        """Another manner after a refusal; None if there is none left."""
        if self.has_temperature and "temperature" in complaint:
            return replace(self, has_temperature=False)
        if self.limit == "max_tokens" and "max_completion_tokens" in complaint:
            return replace(self, limit="max_completion_tokens")
        weaker = {"json_schema": "json_object", "json_object": "text"}.get(self.form)
        return replace(self, form=weaker) if weaker else None

    def options(self, question: Question) -> dict[str, Any]:
        chosen: dict[str, Any] = {self.limit: MOST_TOKENS}
        if self.has_temperature:
            chosen["temperature"] = 0
        if self.form == "json_schema":
            wanted = {"name": question.name, "strict": True, "schema": question.schema}
            chosen["response_format"] = {"type": "json_schema", "json_schema": wanted}
        elif self.form == "json_object":
            chosen["response_format"] = {"type": "json_object"}
        return chosen


class HttpJudge(Asking):
    """One model of one server. `per_hour`: most requests in any hour, 0 for no limit."""

    def __init__(self, url: str, *, model: str, api_key: str = "", per_hour: int = 60) -> None:
        super().__init__(f"http:{model}")
        self._url, self._model = url, model
        self._remote = remote.Remote(url, api_key=api_key)
        self._budget = Budget(per_hour)
        self._bounded = Bounded(places=AT_ONCE)
        self._manner = Manner()
        self._failures = 0
        self._quiet_until = 0.0

    def ask(self, question: Question, *, patience: float) -> str:
        if time.monotonic() < self._quiet_until:
            raise JudgeAway(f"The judge's server {self._url} failed a moment ago.")
        return self._bounded.run(partial(self._answer, question), patience=patience)

    def _answer(self, question: Question, deadline: float) -> str:
        client, manner = self._connected(), self._manner
        while True:
            if time.monotonic() > deadline:
                raise JudgeFailed(LATE)
            self._budget.take()
            try:
                body = self._send(client, question, manner, deadline)
            except Exception as error:
                other = manner.without(str(error)) if _is_refusal(error) else None
                if other is None:
                    raise self._failed(error, deadline) from error
                manner = other
            else:
                self._manner, self._failures = manner, 0
                return _content(body)

    def _send(self, client: Any, question: Question, manner: Manner, deadline: float) -> bytes:
        """The body of the answer. Each piece of it may take as long as is left, all together no longer."""
        body = b""
        asking = client.chat.completions.with_streaming_response.create(
            model=self._model,
            messages=question.messages,
            timeout=max(0.01, deadline - time.monotonic()),
            **manner.options(question),
        )
        with asking as response:
            for piece in response.iter_bytes():
                body += piece
                if len(body) > MOST_BYTES:
                    raise JudgeFailed("The judge's answer is too long.")
                if time.monotonic() > deadline:
                    raise TimeoutError
        return body

    def _failed(self, error: Exception, deadline: float) -> JudgeFailed:
        if isinstance(error, JudgeFailed):
            return error
        if time.monotonic() > deadline:  # it may still answer who has more time
            return JudgeFailed(LATE)
        sentence = f"The judge's server {self._url} failed: {remote.blame(error)}."
        if remote.status_of(error) in REFUSED:
            logger.warning("%s", sentence)
            return JudgeFailed(sentence)
        if not self._failures:
            logger.warning("%s", sentence)
        self._quiet_until = time.monotonic() + min(QUIET_SECONDS * 2.0**self._failures, LONGEST_QUIET_SECONDS)
        self._failures = min(self._failures + 1, 10)
        return JudgeAway(sentence)

    def _connected(self) -> Any:
        try:
            return self._remote.client()
        except ImportError:
            raise JudgeAway("MEMORY_JUDGE='http' needs the openai package: pip install 'memsite[remote]'.") from None


class Budget:
    """So many requests in any hour."""

    def __init__(self, per_hour: int) -> None:
        self._per_hour = per_hour
        self._taken: deque[float] = deque()
        self._lock = threading.Lock()

    def take(self) -> None:
        """Raises JudgeAway when there is none left."""
        if not self._per_hour:
            return
        now = time.monotonic()
        with self._lock:
            while self._taken and self._taken[0] <= now - HOUR_SECONDS:
                self._taken.popleft()
            if len(self._taken) >= self._per_hour:
                raise JudgeAway(f"The judge's budget of {self._per_hour} requests an hour is used up.")
            self._taken.append(now)


def _is_refusal(error: Exception) -> bool:
    """Whether another manner may help; some servers fail (500) over a form that they do not know."""
    status = remote.status_of(error)
    return status in REFUSED or (status >= 500 and "response_format" in str(error))


def _content(body: bytes) -> str:
    """The text of a chat completion. Raises JudgeFailed for anything else."""
    try:
        content = json.loads(body)["choices"][0]["message"]["content"]
    except (ValueError, LookupError, TypeError, RecursionError):
        content = None
    if not isinstance(content, str):
        raise JudgeFailed("The judge's server gave no answer in words.")
    return content
