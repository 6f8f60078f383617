"""Several processes on one database: what one stores, the others find by meaning."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from django.db import connection

from memories.embedders.llama import LlamaEmbedder
from memories.recall import Question, recall
from memories.remember import Draft, remember
from memories.search import vectors
from tests.service import Home, Service, until
from tests.stdio import call, child

pytestmark = pytest.mark.server

STORED = "Payments go through the Stripe checkout."
ASKED = "How do we charge customers?"
OTHER = "Nightly dumps of Postgres are copied to another region."
ASKED_OTHER = "Where is our backup?"


def stored_by_a_child(home: Home, content: str, **variables: str) -> str:
    """The uid that `memory-mcp --stdio` answers to a client that stores one text."""
    with child(home, **variables) as one:
        one.begin()
        answer = one.ask(call(1, "memory_store", content=content))
        one.close()
    return str(answer["result"]["structuredContent"]["uid"])


@pytest.fixture
def service(home: Home, settled: None, minilm_path: Path) -> Service:
    """It publishes no address: a child beside it works alone."""
    service = home.start(MEMORY_MODEL_PATH=str(minilm_path), MEMORY_DISCOVERY_FILE="off")
    until(lambda: json.loads(service.get("/health")[1])["embedder"]["state"] == "ready")
    return service


def asked(service: Service, query: str) -> list[str]:
    return [memory["content"] for memory in service.post("/recall", query=query, mode="search")["memories"]]


def test_a_service_finds_by_meaning_what_a_child_stored(service: Service, home: Home, minilm_path: Path) -> None:
    assert service.keep(OTHER) == 201
    assert asked(service, ASKED_OTHER) == [OTHER]
    assert STORED not in asked(service, ASKED)
    variables = {"MEMORY_MODEL_PATH": str(minilm_path), "MEMORY_DISCOVERY_FILE": "off"}
    assert stored_by_a_child(home, STORED, **variables)
    assert asked(service, ASKED)[0] == STORED


def test_a_new_wording_replaces_the_old_one_in_meaning(service: Service) -> None:
    uid = service.post("/ingest", content=STORED)["uid"]
    assert asked(service, ASKED) == [STORED]
    status, changed = service.ask("PATCH", f"/api/memories/{uid}", {"content": OTHER})
    assert status == 200
    assert asked(service, ASKED) == []
    assert asked(service, ASKED_OTHER) == [OTHER]
    status, _ = service.ask("DELETE", f"/api/memories/{changed['uid']}")
    assert status == 204
    assert asked(service, ASKED_OTHER) == []


def test_what_is_pending_is_embedded_in_the_background(service: Service) -> None:
    text = f"{'ꙮ' * 380}. " * 80 + STORED  # no word of the model: quick to embed
    answer = service.post("/ingest", content=text)
    assert answer["vector"] == "pending"

    def shown() -> str:
        memories = service.post("/recall", query=ASKED, mode="search")["memories"]
        return memories[0]["excerpt"] if memories else ""

    assert STORED in until(shown, 60)


@pytest.mark.django_db(transaction=True)
def test_what_another_process_stored_is_read_without_reading_everything(
    home: Home, with_minilm: LlamaEmbedder, minilm_path: Path, configure: Callable[..., None]
) -> None:
    remember(Draft(content=OTHER))
    matrix = vectors.matrix(with_minilm.identity, 384)
    before = recall(Question(query=ASKED, mode="search"))
    assert STORED not in [item.memory.content for item in before.items]
    full_reads = matrix.full_reads
    database = str(connection.settings_dict["NAME"])
    stored_by_a_child(
        home, STORED, MEMORY_DB_PATH=database, MEMORY_MODEL_PATH=str(minilm_path), MEMORY_DISCOVERY_FILE="off"
    )
    after = recall(Question(query=ASKED, mode="search"))
    assert after.items[0].memory.content == STORED
    assert "vectors" in after.items[0].why
    assert matrix.full_reads == full_reads
