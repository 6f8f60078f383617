"""The matrix of vectors: exact, and never behind what is stored."""

import threading
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from django.db import OperationalError, connection
from django.utils import timezone

from memories import lifecycle
from memories.embedders import Vectors
from memories.models import Memory, Passage
from memories.search import Place, sqlite, vectors
from memories.search.vectors import SMALLEST, Close, Matrix, Scored

MODEL, DIMENSION = "m:8", 8
PLACES: list[Place] = [("s", "a"), ("s", "b"), ("t", "a")]


def everything(ids: Collection[int]) -> frozenset[int]:
    return frozenset(ids)


def random_rows(number: int, rng: np.random.Generator) -> Vectors:
    rows = rng.normal(size=(number, DIMENSION)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def passages_of(memory: Memory, rows: Iterable[Vectors], *, model: str = MODEL) -> list[Passage]:
    return [
        Passage(
            memory=memory, position=at, start=10 * at, end=10 * at + 10, vector=row.astype("<f4").tobytes(),
            model=model, text_hash=memory.content_hash,
        )
        for at, row in enumerate(rows)
    ]  # fmt: skip


def fill(number: int, *, seed: int = 0, model: str = MODEL) -> list[Memory]:
    """Memories in several places with one to three passages, a fifth of them superseded."""
    rng = np.random.default_rng(seed)
    now = timezone.now()
    memories = Memory.objects.bulk_create(
        Memory(
            scope=place[0], project=place[1], content=f"text {seed} {at}", content_hash=f"{seed} {at}",
            valid_from=now, valid_to=now if rng.random() < 0.2 else None,
        )
        for at in range(number)
        for place in [PLACES[rng.integers(len(PLACES))]]
    )  # fmt: skip
    for memory in memories:
        Passage.objects.bulk_create(passages_of(memory, random_rows(rng.integers(1, 4), rng), model=model))
    return memories


def brute_force(
    query: Vectors, *, places: Collection[Place] = PLACES, superseded: bool = True, floor: float = -1, limit: int = 10,
    accepted: Collection[int] | None = None,
) -> list[tuple[int, float, int]]:  # fmt: skip
    """Memory, cosine and start of the nearest passages, one by one."""
    best: dict[int, tuple[int, float, int]] = {}
    for one in Passage.objects.select_related("memory").filter(model=MODEL, memory__deleted_at=None):
        memory = one.memory
        if (memory.scope, memory.project) not in places:
            continue
        if (memory.valid_to and not superseded) or (accepted is not None and memory.pk not in accepted):
            continue
        cosine = float(np.frombuffer(one.vector, "<f4") @ query)
        if cosine >= floor and cosine > best.get(memory.pk, (0, -2.0, 0))[1]:
            best[memory.pk] = (memory.pk, cosine, one.start)
    return sorted(best.values(), key=lambda one: -one[1])[:limit]


def same(found: list[Close], expected: list[tuple[int, float, int]]) -> bool:
    np.testing.assert_allclose([one.cosine for one in found], [one[1] for one in expected], atol=1e-5)
    return [(one.id, one.start, one.end) for one in found] == [(one, start, start + 10) for one, _, start in expected]


def nearest(scored: Scored, *, limit: int = 10) -> list[Close]:
    return scored.best(PLACES, superseded=True, floor=-1, limit=limit, accept=everything)


@pytest.fixture
def query() -> Vectors:
    return random_rows(1, np.random.default_rng(99))[0]


@pytest.fixture
def matrix(db: None) -> Matrix:
    return Matrix(MODEL, DIMENSION)


@pytest.mark.parametrize("seed", range(4))
def test_the_nearest_are_those_of_brute_force(matrix: Matrix, seed: int) -> None:
    memories = fill(150, seed=seed)
    rng = np.random.default_rng(seed + 100)
    accepted = {one.pk for one in memories if rng.random() < 0.3}
    for places in (PLACES, [PLACES[0]], PLACES[:2], [*PLACES[1:], ("nobody", "")], []):
        for superseded in (True, False):
            asked = random_rows(1, rng)[0]
            narrowed = {"superseded": superseded, "floor": 0.1, "limit": 7}
            scored = matrix.score(asked)
            found = scored.best(places, accept=everything, **narrowed)
            assert same(found, brute_force(asked, places=places, **narrowed))
            found = scored.best(places, accept=lambda ids: frozenset(ids) & accepted, **narrowed)
            assert same(found, brute_force(asked, places=places, accepted=accepted, **narrowed))


def test_more_than_there_are(matrix: Matrix, query: Vectors) -> None:
    fill(20)
    assert same(nearest(matrix.score(query), limit=500), brute_force(query, limit=500))


def test_the_places_of_a_scope(matrix: Matrix, query: Vectors) -> None:
    assert matrix.places("s") == []
    fill(30)
    matrix.score(query)
    assert sorted(matrix.places("s")) == PLACES[:2]
    assert matrix.places("t") == PLACES[2:]
    assert matrix.places("u") == []


def test_nothing_is_stored(matrix: Matrix, query: Vectors) -> None:
    assert nearest(matrix.score(query)) == []
    assert matrix.score(query).of([1, 2]) == {}


def test_accept_is_asked_no_more_than_it_needs_to_be(matrix: Matrix, query: Vectors) -> None:
    fill(200)
    asked: list[int] = []

    def accept(ids: Collection[int]) -> frozenset[int]:
        asked.extend(ids)
        return frozenset(ids)

    matrix.score(query).best(PLACES, superseded=True, floor=-1, limit=5, accept=accept)
    assert len(asked) <= 20
    assert len(set(asked)) == len(asked)


def test_the_cosine_of_any_memory_is_that_of_its_nearest_passage(matrix: Matrix, query: Vectors) -> None:
    memories = fill(30)
    expected = {one: (one, cosine, start) for one, cosine, start in brute_force(query, limit=30)}
    found = matrix.score(query).of([*(one.pk for one in memories[:10]), 10**9])
    assert set(found) == {one.pk for one in memories[:10]}
    assert same(list(found.values()), [expected[one] for one in found])


def test_it_grows_while_an_older_search_goes_on(matrix: Matrix, query: Vectors) -> None:
    fill(50)
    before = matrix.score(query)
    expected = brute_force(query)
    fill(SMALLEST, seed=1)
    after = matrix.score(query)
    assert matrix._rows.size > SMALLEST
    assert matrix.full_reads == 1
    assert same(nearest(before), expected)
    assert same(nearest(after), brute_force(query))


def test_new_vectors_replace_the_old_ones(matrix: Matrix, query: Vectors) -> None:
    memory = fill(40)[7]
    best = nearest(matrix.score(query))[0]
    assert best.cosine < 0.999
    memory.passages.all().delete()
    Passage.objects.bulk_create(passages_of(memory, [query]))
    found = nearest(matrix.score(query))
    assert found[0] == Close(memory.pk, pytest.approx(1, abs=1e-5), 0, 10)
    assert same(found, brute_force(query))
    assert matrix.full_reads == 1


@pytest.mark.parametrize("change", [{"deleted_at": timezone.now()}, {"project": "b"}, {"valid_to": None}])
def test_a_changed_memory_is_found_as_it_is_now(matrix: Matrix, query: Vectors, change: dict[str, object]) -> None:
    fill(60)
    matrix.score(query)
    Memory.objects.filter(pk__in=[one.id for one in nearest(matrix.score(query))][:5]).update(**change)
    for places in (PLACES, [PLACES[0]], [PLACES[1]], [("t", "b")]):
        narrowed = {"superseded": False, "floor": -1, "limit": 10}
        found = matrix.score(query).best(places, accept=everything, **narrowed)
        assert same(found, brute_force(query, places=places, **narrowed))
    assert matrix.full_reads == 1


def test_a_deleted_memory_is_struck_out(matrix: Matrix, query: Vectors) -> None:
    fill(30)
    before = matrix.score(query)
    doomed = [one.id for one in nearest(before, limit=5)]
    Passage.objects.filter(memory__in=doomed).delete()
    Memory.objects.filter(pk__in=doomed).delete()
    assert same(nearest(matrix.score(query)), brute_force(query))
    assert not set(doomed) & {one.id for one in nearest(before)}, "nor does an older search show it"


def test_when_much_is_struck_out_the_matrix_is_made_anew(matrix: Matrix, query: Vectors) -> None:
    memories = fill(SMALLEST)
    for _ in range(4):
        for memory in memories[:100]:
            memory.save(update_fields=["kind"])
        assert same(nearest(matrix.score(query)), brute_force(query))
    assert matrix.full_reads > 1
    assert matrix._rows.struck_out < matrix._rows.size / 2


def test_vectors_of_another_model_or_length_stay_out(matrix: Matrix, query: Vectors) -> None:
    fill(10)
    fill(10, seed=1, model="n:8")
    Passage.objects.filter(pk__in=Passage.objects.values("pk")[:3]).update(vector=b"\0" * 12)
    usable = Passage.objects.filter(model=MODEL).exclude(vector=b"\0" * 12)
    assert {one.id for one in nearest(matrix.score(query), limit=50)} == set(usable.values_list("memory", flat=True))


def test_a_shortened_table_of_changes_is_noticed_by_who_is_behind(matrix: Matrix, query: Vectors) -> None:
    fill(10)
    matrix.score(query)
    sqlite.forget_changes(keep=1)
    assert same(nearest(matrix.score(query)), brute_force(query))
    assert matrix.full_reads == 1, "nothing that it had not read was lost"
    fill(10, seed=1)
    sqlite.forget_changes(keep=1)
    assert same(nearest(matrix.score(query)), brute_force(query))
    assert matrix.full_reads == 2


def test_an_emptied_table_of_changes_is_noticed(matrix: Matrix, query: Vectors) -> None:
    fill(10)
    matrix.score(query)
    fill(10, seed=1)
    sqlite.forget_changes(keep=0)
    assert same(nearest(matrix.score(query)), brute_force(query))


def test_another_file_in_the_place_of_the_database_is_noticed(
    matrix: Matrix, query: Vectors, configure: Callable[..., None], tmp_path: Path
) -> None:
    database = tmp_path / "memory.db"
    database.touch()
    configure(db_path=database, database_url="")
    fill(10)
    matrix.score(query)
    matrix.score(query)
    assert matrix.full_reads == 1
    other = tmp_path / "other.db"
    other.touch()
    other.replace(database)
    matrix.score(query)
    matrix.score(query)
    assert matrix.full_reads == 2


def test_a_process_has_one_matrix_for_its_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "_matrices", {})
    one = vectors.matrix("a:8", 8)
    assert vectors.matrix("a:8", 8) is one
    assert vectors.matrix("a:8", 9) is not one
    vectors.matrix("b:8", 8)
    assert list(vectors._matrices) == ["b:8"]


@pytest.mark.django_db(transaction=True)
def test_searches_go_on_while_others_store(query: Vectors) -> None:
    matrix = Matrix(MODEL, DIMENSION)
    fill(100)
    known = set(Memory.objects.values_list("pk", flat=True))
    stored = threading.Event()

    def store() -> None:
        try:
            for seed in range(1, 9):
                fresh = fill(40, seed=seed)
                known.update(one.pk for one in fresh)
                Passage.objects.filter(memory__in=fresh[:10]).delete()
                fresh[20].passages.all().delete()
                Passage.objects.bulk_create(passages_of(fresh[20], random_rows(2, np.random.default_rng(-seed % 97))))
        finally:
            stored.set()
            connection.close()

    def ask(_: int) -> int:
        asked = 0
        try:
            while not stored.is_set() or not asked:
                found = nearest(matrix.score(query))
                cosines = [one.cosine for one in found]
                assert cosines == sorted(cosines, reverse=True)
                assert len({one.id for one in found}) == len(found) == 10
                asked += 1
        finally:
            connection.close()
        return asked

    with ThreadPoolExecutor(4) as pool:
        storing = pool.submit(store)
        assert min(pool.map(ask, range(3))) > 0
        storing.result(30)
    assert same(nearest(matrix.score(query)), brute_force(query))
    assert {one.id for one in nearest(matrix.score(query), limit=1000)} <= known


def test_a_read_that_fails_leaves_the_matrix_whole(
    matrix: Matrix, query: Vectors, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(10)
    matrix.score(query)
    fill(3, seed=1)
    read = sqlite.vectors

    def broken(*arguments: object) -> object:
        yield next(read(*arguments))  # type: ignore[arg-type]
        raise OperationalError("disk I/O error")

    with monkeypatch.context() as patch:
        patch.setattr(sqlite, "vectors", broken)
        with pytest.raises(OperationalError):
            matrix.score(query)
    assert same(nearest(matrix.score(query), limit=50), brute_force(query, limit=50))
    assert matrix.full_reads == 1


def test_a_first_read_that_fails_is_done_again(matrix: Matrix, query: Vectors, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(10)
    with monkeypatch.context() as patch:
        patch.setattr(sqlite, "vectors", lambda *_: (_ for _ in [1 / 0]))
        with pytest.raises(ZeroDivisionError):
            matrix.score(query)
    assert same(nearest(matrix.score(query), limit=50), brute_force(query, limit=50))


def test_a_purge_shortens_the_table_of_changes(matrix: Matrix, query: Vectors, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lifecycle, "CHANGES_KEPT", 5)
    fill(30)
    lifecycle.purge(actor="test")
    first, last = sqlite.changes()
    assert last - first < 5
    assert same(nearest(matrix.score(query)), brute_force(query))
