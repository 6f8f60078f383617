"""An export is one moment of a store in use; what is imported is found by meaning as well."""

import threading
from collections.abc import Callable

import pytest
from django.db import connection

from memories import embedders
from memories.models import Memory
from memories.remember import Draft, remember
from memories.search import vectors
from memories.transfer.exporting import AT_ONCE, Extent, export
from tests.memories.conftest import found
from tests.memories.embedders.fakes import Words, use
from tests.memories.transfer.conftest import brought, empty_store, exported

type Remembered = Callable[..., Memory]


@pytest.mark.django_db(transaction=True)
def test_a_writer_is_not_held_up_and_does_not_change_an_export_that_runs(remembered: Remembered) -> None:
    first = remembered("text 0")
    for number in range(1, 2 * AT_ONCE):
        remembered(f"text {number}")
    before = exported()
    lines = export(Extent())
    begun = [next(lines), next(lines)]

    def write() -> None:
        try:
            remember(Draft(content="text zero", supersedes=[first.uid]))
        finally:
            connection.close()

    writer = threading.Thread(target=write)
    writer.start()
    writer.join(timeout=30)

    assert Memory.objects.count() == 2 * AT_ONCE, "the export still sees its own moment"
    assert "".join([*begun, *lines]) == before
    assert "text zero" in exported()


@pytest.mark.django_db(transaction=True)
def test_an_export_that_is_broken_off_leaves_the_connection_as_it_was(remembered: Remembered) -> None:
    remembered("the parrot")
    lines = export(Extent())
    next(lines)
    lines.close()
    remembered("the owl")
    assert "the owl" in exported()


@pytest.mark.django_db
def test_what_is_imported_is_found_by_its_meaning(remembered: Remembered, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedders, "_made", None)
    monkeypatch.setattr(vectors, "_matrices", {})
    use(monkeypatch, Words(dimension=128, same={"charge": "pay", "customers": "buyers", "stripe": "paypal"}))
    remembered("charge customers by stripe")
    archive = exported()
    empty_store()
    assert found("pay buyers paypal") == []

    brought(archive)

    assert found("pay buyers paypal") == ["charge customers by stripe"]
    assert exported() == archive
