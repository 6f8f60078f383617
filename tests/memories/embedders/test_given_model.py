"""Whatever model MEMORY_MODEL_PATH names when the tests are started."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from memories.embedders.llama import LlamaEmbedder
from tests.memories.embedders.conftest import loaded
from tests.settings import GIVEN_MODEL


@pytest.fixture(scope="module")
def given() -> LlamaEmbedder:
    if not GIVEN_MODEL or not importlib.util.find_spec("llama_cpp"):
        pytest.skip("runs on the model that MEMORY_MODEL_PATH names, through llama-cpp-python")
    return loaded(Path(GIVEN_MODEL).expanduser())


def test_its_rows_are_unit_vectors(given: LlamaEmbedder) -> None:
    rows = given.documents(["one text", "another text that is longer"], patience=1)
    assert rows.shape[0] == 2
    assert rows.shape[1] == int(given.identity.rsplit(":", 1)[1]) > 0
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)


def test_its_queries_and_documents_carry_their_prefixes(given: LlamaEmbedder) -> None:
    profile, model = given.profile, given._model
    for row, text in (
        (given.query("where is it", patience=1)[0], f"{profile.query_prefix}where is it"),
        (given.documents(["where is it"], patience=1)[0], f"{profile.document_prefix}where is it"),
    ):
        plain = np.asarray(model.embed(text, normalize=False), dtype=np.float32)
        assert float(row @ plain / np.linalg.norm(plain)) > 0.999


def test_related_text_is_nearer_than_unrelated(given: LlamaEmbedder) -> None:
    near, far = "Postgres holds the table of user accounts.", "The cat sleeps on the red sofa at noon."
    nearest, furthest = given.documents([near, far], patience=1) @ given.query("where are user accounts", patience=1)[0]
    assert nearest > furthest
