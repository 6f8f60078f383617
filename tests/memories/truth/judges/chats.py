"""A chat model whose verdicts a test writes, behind the requests and answers of OpenAI's own types."""

import json
import re
from collections.abc import Callable
from typing import Any

from openai.types.chat import ChatCompletion
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming
from pydantic import TypeAdapter

from memories.truth.judges import Case
from memories.truth.judges.http import HttpJudge
from tests.memories.embedders.openai_server import Answer, Answering

CASE = Case("The cap is 1k.", "The cap is 2k.", "number")
WELL_FORMED = TypeAdapter(CompletionCreateParamsNonStreaming)
_NOTE = re.compile(r'<semantic-memory note="(\w+)">\n(.*?)\n</semantic-memory>', re.DOTALL)


def completion(content: object, *, finish: str = "stop") -> Answer:
    """A whole answer of the server, whatever the model said."""
    answer = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [
            {
                "index": 0,
                "finish_reason": finish,
                "logprobs": None,
                "message": {"role": "assistant", "content": content, "refusal": None},
            }
        ],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }
    if content is None or isinstance(content, str):
        ChatCompletion.model_validate(answer, strict=True)
    return 200, json.dumps(answer).encode()


def said(content: object) -> Answering:
    return lambda _: completion(content)


def verdict(word: str, reason: str = "It says so.") -> str:
    return json.dumps({"reason": reason, "verdict": word})


def refusing(status: int, message: str) -> Answering:
    """An error as OpenAI words it."""
    error = {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": None}}
    return lambda _: (status, json.dumps(error).encode())


def notes(body: dict[str, Any]) -> dict[str, str]:
    """What stands between the tags of a request that OpenAI would take."""
    WELL_FORMED.validate_python(body)
    return dict(_NOTE.findall(body["messages"][-1]["content"]))


def judging(confirms: Callable[[str, str], bool]) -> Answering:
    """A model that confirms what the test says of the older and the newer text."""

    def answer(body: dict[str, Any]) -> Answer:
        shown = notes(body)
        return completion(verdict("contradiction" if confirms(shown["older"], shown["newer"]) else "compatible"))

    return answer


def closed(judge: HttpJudge) -> None:
    judge._remote.close()


def ready(url: str) -> HttpJudge:
    """A judge that need not import its client first."""
    judge = HttpJudge(url, model="m")
    judge._connected()
    return judge
