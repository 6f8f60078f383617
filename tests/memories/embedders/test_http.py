"""A server that embeds: what it is sent, and what of its answers is taken."""

import importlib.util
import json
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

from memories import embedders, listing
from memories.embedders import EmbeddingFailed, http
from memories.embedders.http import BATCH, RETRIES, HttpEmbedder
from memories.models import Memory
from memories.recall import Question, recall
from memories.remember import Draft, remember
from memsite.env import load_env
from tests.memories.embedders import openai_server
from tests.memories.embedders.openai_server import Answer, Server, direction
from tests.requirements import need
from tests.service import until

KEYS = ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID")
FOREIGN = "not-for-this-server"


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """It tries again at once, and the environment holds what is meant for others."""
    need(importlib.util.find_spec("openai"), "needs the openai package: pip install 'memsite[remote]'")
    monkeypatch.setattr(http, "PAUSE_SECONDS", 0.001)
    for name in KEYS:
        monkeypatch.setenv(name, FOREIGN)


@pytest.fixture
def server() -> Iterator[Server]:
    with openai_server.served() as server:
        yield server


@pytest.fixture
def embedder(server: Server) -> Iterator[HttpEmbedder]:
    embedder = HttpEmbedder(server.url, model="test-model")
    yield embedder
    closed(embedder)


def closed(embedder: HttpEmbedder) -> None:
    embedder._remote.close()


def fixed(status: int, content: object) -> Callable[[dict[str, Any]], Answer]:
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    return lambda _: (status, body)


def rows(*vectors: object) -> Callable[[dict[str, Any]], Answer]:
    data = [{"object": "embedding", "index": at, "embedding": vector} for at, vector in enumerate(vectors)]
    return fixed(200, {"object": "list", "data": data, "model": "m", "usage": {"prompt_tokens": 1, "total_tokens": 1}})


def unit(text: str, dimension: int = 4) -> Any:
    vector = np.asarray(direction(text, dimension))
    return vector / np.linalg.norm(vector)


def test_rows_come_in_the_order_of_the_texts(embedder: HttpEmbedder, server: Server) -> None:
    texts = ["one", "two", "three"]
    np.testing.assert_allclose(embedder.documents(texts, patience=5), [unit(text) for text in texts], rtol=1e-5)
    assert server.paths == ["/v1/embeddings"]
    assert server.asked[0]["model"] == "test-model"
    assert embedder.identity == "test-model:4"
    assert len(server.asked) == 1


def test_many_texts_go_in_batches(embedder: HttpEmbedder, server: Server) -> None:
    texts = [f"text {number}" for number in range(2 * BATCH + 3)]
    found = embedder.documents(texts, patience=5)
    assert server.sizes == [BATCH, BATCH, 3]
    np.testing.assert_allclose(found, [unit(text) for text in texts], rtol=1e-5)


def test_a_query_is_asked_once_with_the_models_prefix(server: Server) -> None:
    embedder = HttpEmbedder(server.url, model="nomic-embed-text")
    np.testing.assert_array_equal(embedder.query("where", patience=5), embedder.query("where", patience=5))
    embedder.documents(["here"], patience=5)
    assert [body["input"] for body in server.asked] == [["search_query: where"], ["search_document: here"]]
    closed(embedder)


def test_an_error_of_the_server_is_tried_again(embedder: HttpEmbedder, server: Server) -> None:
    server.then = [fixed(500, {"error": "busy"}), fixed(503, {"error": "busy"}), openai_server.good]
    assert embedder.documents(["text"], patience=5).shape == (1, 4)
    assert len(server.asked) == 3
    assert embedder.state == "ready"


def test_an_unknown_model_is_not_tried_again(embedder: HttpEmbedder, server: Server) -> None:
    server.then = [fixed(404, {"error": {"message": "no such model"}}), openai_server.good]
    with pytest.raises(EmbeddingFailed, match=server.url):
        embedder.documents(["text"], patience=5)
    assert len(server.asked) == 1
    assert embedder.state == "failed"
    assert embedder.documents(["text"], patience=5).shape == (1, 4)
    assert embedder.state == "ready"


def test_after_a_failure_no_query_waits_for_a_while(
    embedder: HttpEmbedder, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.then = [fixed(500, {"error": "busy"})]
    for _ in range(3):
        with pytest.raises(EmbeddingFailed):
            embedder.query("text", patience=5)
    assert len(server.asked) == RETRIES + 1
    server.then = [openai_server.good]
    with pytest.raises(EmbeddingFailed):
        embedder.query("text", patience=5)
    monkeypatch.setattr(embedder, "_quiet_until", 0.0)
    assert embedder.query("text", patience=5).shape == (1, 4)


GARBAGE = {
    "no JSON": fixed(200, b"<html>Welcome</html>"),
    "another JSON": fixed(200, {"hello": "world"}),
    "a list": fixed(200, [1, 2]),
    "null": fixed(200, None),
    "nothing": fixed(200, b""),
    "no rows": rows(),
    "one row too many": rows([1.0, 2.0], [1.0, 2.0]),
    "a zero vector": rows([0.0, 0.0]),
    "no numbers": rows([None, 1.0]),
    "words": rows(["a", "b"]),
    "a string": rows("AACAPwAAAEA="),
    "an empty vector": rows([]),
    "rows of unequal length": rows([1.0, 2.0], [1.0]),
    "a vector too large for a float": rows([1e300, 1.0]),
}


@pytest.mark.django_db
@pytest.mark.parametrize("name", GARBAGE)
def test_a_wrong_answer_is_no_vector(
    embedder: HttpEmbedder, server: Server, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    server.then = [GARBAGE[name]]
    with pytest.raises(EmbeddingFailed):
        embedder.documents(["text"], patience=5)
    monkeypatch.setattr(embedders, "current", lambda: embedder)
    kept = remember(Draft(content="The owl sleeps in the barn."))
    assert (kept.status, kept.vector) == ("created", "pending")
    answer = recall(Question(query="owl barn", mode="search"))
    assert len(answer.items) == 1
    assert answer.degraded


def test_another_dimension_later_is_refused(embedder: HttpEmbedder, server: Server) -> None:
    embedder.documents(["text"], patience=5)
    server.then = [partial(openai_server.good, dimension=5)]
    with pytest.raises(EmbeddingFailed, match="5 dimensions instead of 4"):
        embedder.query("text", patience=5)
    server.then = [openai_server.good]
    assert embedder.query("text", patience=5).shape == (1, 4)


def slowly(body: dict[str, Any]) -> Answer:
    time.sleep(3)
    return openai_server.good(body)


def test_a_write_waits_no_longer_than_its_patience(embedder: HttpEmbedder, server: Server) -> None:
    """All tries together."""
    server.then = [slowly]
    started = time.monotonic()
    with pytest.raises(EmbeddingFailed):
        embedder.documents(["text"], patience=0.3)
    assert time.monotonic() - started < 2.5


def test_a_recall_waits_no_longer_than_its_patience(embedder: HttpEmbedder, server: Server) -> None:
    server.then = [slowly]
    started = time.monotonic()
    with pytest.raises(EmbeddingFailed):
        embedder.query("text", patience=0.3)
    assert time.monotonic() - started < 2.5


def test_nobody_listens(server: Server) -> None:
    embedder = HttpEmbedder("http://127.0.0.1:9/v1", model="m")
    with pytest.raises(EmbeddingFailed):
        embedder.query("text", patience=5)
    assert embedder.state == "failed"
    closed(embedder)


@pytest.mark.django_db
def test_the_numbers_of_the_store_can_be_read_while_nobody_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = HttpEmbedder("http://127.0.0.1:9/v1", model="m")
    monkeypatch.setattr(embedders, "current", lambda: embedder)
    assert listing.stats().vectors == listing.VectorCounts()
    closed(embedder)


def test_its_own_key_is_sent(server: Server) -> None:
    embedder = HttpEmbedder(server.url, model="m", api_key="its-own")
    embedder.query("text", patience=5)
    assert server.headers[0]["authorization"] == "Bearer its-own"
    closed(embedder)


def test_no_key_organization_or_project_of_the_environment_is_sent(embedder: HttpEmbedder, server: Server) -> None:
    embedder.query("text", patience=5)
    assert FOREIGN not in json.dumps(server.headers)


@pytest.mark.parametrize("name", ["OPENAI_API_KEY", "OPENAI_BASE_URL"])
def test_a_variable_of_openai_alone_is_no_reason_to_send_anything(
    server: Server, configure: Callable[..., None], monkeypatch: pytest.MonkeyPatch, name: str, tmp_path: Any
) -> None:
    monkeypatch.setenv(name, server.url)
    env = load_env({name: server.url, "HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)})
    assert env.embed_url == env.embed_api_key == ""
    configure(embed_url=env.embed_url, embed_api_key=env.embed_api_key, model_path=None)
    assert embedders.current() is None
    assert embedders.describe().name == "none"


@pytest.mark.django_db
def test_texts_are_stored_and_found_through_the_server_that_is_set(
    server: Server, configure: Callable[..., None]
) -> None:
    configure(embed_url=server.url, embed_model="m", embed_api_key="k", recall_min_cosine=0.0)
    assert remember(Draft(content="The owl sleeps.")).vector == "stored"
    answer = recall(Question(query="Nothing alike", mode="search"))
    assert [item.memory for item in answer.items] == [Memory.objects.get()]
    assert answer.degraded is None
    until(lambda: server.sizes == [1, 1])
    embedder = embedders.current()
    assert isinstance(embedder, HttpEmbedder)
    closed(embedder)


def test_a_missing_package_is_said(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(EmbeddingFailed, match=r"memsite\[remote\]"):
        HttpEmbedder(server.url, model="m").query("text", patience=1)
