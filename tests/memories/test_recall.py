import time

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memories.errors import Rejected
from memories.models import Memory
from memories.recall import Question, injection_boost, recall

pytestmark = pytest.mark.django_db


def searched(query, **fields):
    return [item.memory.content for item in recall(Question(query=query, mode="search", **fields)).items]


def injected(query, **fields):
    return recall(Question(query=query, **fields))


@pytest.fixture
def shelf(remembered):
    """Memories about everything but parrots, so that a word can be told from noise."""
    for number in range(30):
        remembered(f"note {number}: the service restarts every night and writes its report to disk")


@pytest.mark.parametrize(("stored", "asked"), [("0", 2000), ("0-", 800), ("0a", 1000)])
def test_a_prompt_of_one_run_costs_no_more_than_any_other(remembered, stored, asked):
    remembered("mem " + stored * (190_000 // len(stored)))
    begun = time.process_time()

    searched("why is this " + stored * asked)

    assert time.process_time() - begun < 5, "it took most of a minute"


@pytest.mark.usefixtures("shelf")
def test_what_bears_on_the_task_is_injected(remembered):
    memory = remembered("The parrot service listens on port 9411.", kind="decision", project="acme/shop")

    answer = injected("which port has the parrot service?", project="acme/shop")

    (item,) = answer.items
    assert item.memory == memory
    assert 0.5 <= item.relevance <= 1
    assert item.why["words"]["rank"] == 1
    assert item.why["boosts"] == {"injections": 1.0, "life": 1.0}
    assert "The parrot service listens on port 9411." in answer.block.text
    assert answer.fingerprint == answer.block.fingerprint
    assert (answer.unchanged, answer.degraded, answer.project) == (False, None, "acme/shop")


@pytest.mark.usefixtures("shelf")
@pytest.mark.parametrize("query", ["how do penguins dive", "bake a cake for the zoo", "hello!", "", "fix it please"])
def test_nothing_is_injected_when_nothing_bears_on_the_task(remembered, query):
    remembered("The parrot service listens on port 9411.")

    answer = injected(query)

    assert (answer.block.text, answer.block.chars, answer.fingerprint, answer.items) == ("", 0, "", ())
    assert not answer.unchanged


@pytest.mark.usefixtures("shelf")
def test_a_weak_hit_is_withheld_from_an_injection_but_not_from_a_search(remembered):
    remembered("The parrot service listens on port 9411.")
    query = "paint the parrot cage with waterproof yellow varnish tomorrow morning"

    answer = injected(query)

    assert answer.items == ()
    assert answer.withheld.below_relevance >= 1
    assert 0 < answer.withheld.best_relevance < 0.5
    assert searched(query)[0] == "The parrot service listens on port 9411."


def test_a_gate_of_zero_is_off(remembered, configure):
    remembered("The parrot service listens on port 9411.")
    query = "paint the parrot cage with waterproof yellow varnish tomorrow morning"
    assert not injected(query).items

    configure(inject_min_relevance=0.0)

    assert injected(query).items


def test_relevance_does_not_depend_on_the_number_of_hits(remembered):
    remembered("The parrot sleeps.")
    alone = injected("parrot sleeps").items[0].relevance
    for number in range(10):
        remembered(f"Parrot number {number} never sleeps.")

    assert injected("parrot sleeps").items[0].relevance == alone == 1


def test_no_scope_sees_another(remembered):
    remembered("the parrot of the team", scope="team")
    remembered("the parrot of nobody in particular")

    assert searched("parrot", scope="team") == ["the parrot of the team"]
    assert searched("parrot") == ["the parrot of nobody in particular"]
    assert searched("parrot", scope="tea") == searched("parrot", scope="%") == []


def test_a_project_sees_itself_and_what_holds_everywhere(remembered):
    for project in ("acme/shop", "acme/web", ""):
        remembered(f"the parrot of {project or 'all'}", project=project)

    assert set(searched("parrot", project="acme/shop")) == {"the parrot of acme/shop", "the parrot of all"}
    assert len(searched("parrot", project="*")) == 3


@pytest.mark.parametrize("nothing", [None, ""])
def test_no_project_and_no_folder_mean_the_whole_scope(remembered, nothing):
    remembered("the parrot of acme/shop", project="acme/shop")
    remembered("the parrot of all")

    assert len(searched("parrot", project=nothing)) == 2


def test_kinds_and_tags_narrow_the_search_before_the_limit(remembered):
    for number in range(60):
        remembered(f"parrot parrot parrot {number}")
    remembered("a long story in which a parrot appears once", kind="decision", tags=["zoo", "birds"])

    assert searched("parrot", kinds=["decision"], limit=1) == ["a long story in which a parrot appears once"]
    assert searched("parrot", tags=["birds", "zoo"], limit=1) == ["a long story in which a parrot appears once"]
    assert searched("parrot", tags=["birds", "fish"]) == []
    assert len(searched("parrot", kinds=["fact", "decision"], limit=50)) == 50


@pytest.mark.parametrize(
    "wrong",
    [
        {"limit": 0},
        {"limit": -1},
        {"limit": 51},
        {"budget_chars": -1},
        {"budget_chars": 1_000_001},
        {"kinds": ["foo"]},
        {"mode": "foo"},
        {"as_of": "soon"},
        {"scope": "x" * 201},
        {"project": "x" * 201},
        {"tags": ["x" * 201]},
    ],
    ids=lambda wrong: "-".join(f"{name}={value}"[:16] for name, value in wrong.items()),
)
def test_a_question_that_cannot_be_meant_is_refused(wrong):
    with pytest.raises(Rejected):
        recall(Question(**{"query": "parrot", **wrong}))


def test_hits_come_in_the_order_of_their_scores(remembered):
    for number in range(30):
        remembered(f"{'parrot ' * (number % 5 + 1)} and {'cage ' * (number % 3)} {number}", kind="decision")

    items = recall(Question(query="parrot cage", mode="search", limit=30, kinds=["decision"])).items
    first = recall(Question(query="parrot cage", mode="search", limit=5, kinds=["decision"])).items

    scores = [item.score for item in items]
    assert len(items) == 30
    assert scores == sorted(scores, reverse=True)
    assert [item.memory.pk for item in first] == [item.memory.pk for item in items[:5]]


def test_equal_hits_come_newest_first(remembered):
    for day in ("02", "03", "01"):
        remembered(f"the parrot of 2026-01-{day}", valid_from=f"2026-01-{day}")

    assert searched("parrot") == [f"the parrot of 2026-01-{day}" for day in ("03", "02", "01")]


def test_what_is_forgotten_superseded_or_expired_is_not_recalled(remembered, freeze):
    freeze("2026-03-29T12:00:00+00:00")
    Memory.objects.filter(pk=remembered("parrot forgotten").pk).update(deleted_at="2026-03-29T12:00:00Z")
    old = remembered("parrot superseded")
    remembered("cage instead", supersedes=[old.uid])
    remembered("parrot for a minute", ttl_seconds=60)
    freeze("2026-03-29T12:01:00+00:00")

    for query in ("parrot", "parrots", "arro"):
        assert searched(query) == []


def test_what_the_session_knows_is_left_out(remembered):
    known, fresh = remembered("the green parrot sleeps"), remembered("the red parrot sings")

    answer = injected("parrot", exclude=frozenset({known.uid}))

    assert [item.memory for item in answer.items] == [fresh]
    assert answer.withheld.in_context == 1
    assert not answer.unchanged


def test_nothing_changes_when_the_session_knows_all_of_it(remembered):
    known = remembered("the green parrot sleeps")

    answer = injected("parrot", exclude=frozenset({known.uid}), fingerprint="before")

    assert (answer.unchanged, answer.block.text, answer.items) == (True, "", ())
    assert answer.fingerprint == "before"
    assert answer.withheld.in_context == 1


def test_an_equal_fingerprint_means_unchanged(remembered):
    remembered("the green parrot sleeps")
    first = injected("parrot")

    again = injected("what about the parrot?", fingerprint=first.fingerprint)

    assert (again.unchanged, again.block.text, again.items) == (True, "", ())
    assert again.fingerprint == first.fingerprint
    assert not injected("penguin", fingerprint=first.fingerprint).unchanged


def test_search_neither_excludes_nor_answers_unchanged(remembered):
    known = remembered("the green parrot sleeps")
    fields = {"query": "parrot", "mode": "search", "exclude": frozenset({known.uid})}
    fingerprint = recall(Question(**fields)).fingerprint

    answer = recall(Question(**fields, fingerprint=fingerprint))

    assert [item.memory for item in answer.items] == [known]
    assert not answer.unchanged


def test_of_those_that_say_the_same_the_newest_is_injected(remembered):
    remembered("The parrot sleeps.", valid_from="2026-01-01")
    newest = remembered("The PARROT sleeps!", valid_from="2026-02-01")
    remembered("the parrot, it sleeps", valid_from="2026-01-15")

    assert [item.memory for item in injected("parrot sleeps").items] == [newest]
    assert len(searched("parrot sleeps")) == 3


def test_contradictions_are_not_folded(remembered):
    texts = {
        "The parrot sleeps.",
        "The parrot never sleeps.",
        "The parrot sleeps 5 hours.",
        "The parrot sleeps -5 hours.",
    }
    for text in texts:
        remembered(text)

    assert {item.memory.content for item in injected("parrot sleeps").items} == texts


def test_recalling_changes_nothing(remembered):
    remembered("the parrot sleeps")
    before = list(Memory.objects.values())

    with CaptureQueriesContext(
        connection,
    ) as queries:
        injected("parrot")
        searched("parrot")

    assert list(Memory.objects.values()) == before
    assert not [one for one in queries if not one["sql"].startswith("SELECT")]


def test_the_number_of_queries_does_not_grow_with_the_store(remembered, django_assert_max_num_queries):
    for number in range(60):
        remembered(f"parrot number {number} in a cage")

    with django_assert_max_num_queries(10):
        injected("parrot in a cage", limit=5)


def test_an_injected_memory_is_lifted_a_little(remembered):
    injected_once, other = remembered("the parrot is green"), remembered("the parrot is blue!")
    Memory.objects.filter(pk=injected_once.pk).update(injection_count=2)

    assert searched("parrot")[0] == injected_once.content
    Memory.objects.update(injection_count=0)
    assert searched("parrot")[0] == other.content


def test_a_clearly_better_memory_beats_one_injected_a_thousand_times(remembered):
    popular = remembered("the parrot service is written in Rust and deployed by hand")
    Memory.objects.filter(pk=popular.pk).update(injection_count=1000)
    better = remembered("the parrot service listens on port 9411")

    assert injected("on which port does the parrot service listen").items[0].memory == better


def test_the_boost_has_an_end_and_can_be_switched_off():
    boosts = [injection_boost(times, weight=0.15) for times in (0, 1, 2, 1000, 10**9)]
    assert boosts[0] == 1
    assert boosts == sorted(boosts)
    assert boosts[3] == boosts[4] <= 1.5
    assert injection_boost(1000, weight=0.0) == 1


def test_an_artifact_is_recalled_until_its_retention_ends(remembered, configure, freeze):
    freeze("2026-01-01T00:00:00+00:00")
    remembered("parrot captured", source="tool")
    remembered("parrot compacted", source="compaction")
    remembered("parrot pinned", source="tool", pinned=True)
    remembered("parrot decided", kind="decision")
    freeze("2026-04-02T00:00:00+00:00")

    assert set(searched("parrot")) == {"parrot compacted", "parrot pinned", "parrot decided"}
    configure(ttl_compaction_days=90, ttl_artifact_days=0)
    assert set(searched("parrot")) == {"parrot captured", "parrot pinned", "parrot decided"}


def test_an_injection_prolongs_the_life_of_an_artifact(remembered, freeze):
    freeze("2026-01-01T00:00:00+00:00")
    memory = remembered("parrot captured", source="tool")
    Memory.objects.filter(pk=memory.pk).update(last_injected_at="2026-03-01T00:00:00Z")

    freeze("2026-05-29T00:00:00+00:00")
    assert searched("parrot") == ["parrot captured"]
    freeze("2026-05-31T00:00:00+00:00")
    assert searched("parrot") == []


def test_a_pinned_memory_never_expires(remembered, freeze):
    freeze("2026-01-01T00:00:00+00:00")
    remembered("parrot for a minute", ttl_seconds=60, pinned=True)

    freeze("2027-01-01T00:00:00+00:00")
    assert searched("parrot") == ["parrot for a minute"]
