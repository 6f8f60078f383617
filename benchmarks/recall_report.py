"""The figures of recall quality, as Markdown and as plain data."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from recall_measure import Asked, Ingested, Run
from scoring import bootstrap, mean, recall_at, reciprocal_rank, wilson
from tables import mark, table

type Ranked = Callable[[Asked], list[str]]
type Figures = dict[str, Any]

DEPTHS = (5, 10, 20)
ANSWERED = ("1", "2", "3", "4")
SLICES: Mapping[str, Sequence[str]] = {
    "1 multi-hop": "1",
    "2 temporal": "2",
    "3 open domain": "3",
    "4 single-hop": "4",
    "**1-4**": ANSWERED,
    "5 adversarial": "5",
}
GROUPS = {"1-5 (tuned on)": range(1, 6), "6-10 (held out)": range(6, 11), "all": range(1, 11)}
LOCOMO_TARGETS = {"R@5": 0.63, "R@10": 0.725, "MRR": 0.54}
OPEN_TARGET = 0.82
INJECT_TARGETS = ((0.22, 0.56), (0.11, 0.46))
"""(off-topic share at most, recall@5 at least), each at its own MEMORY_INJECT_MIN_RELEVANCE: a run shows one."""


def _search(asked: Asked) -> list[str]:
    return asked.search


def _plain(asked: Asked) -> list[str]:
    return asked.plain


def _inject(asked: Asked) -> list[str]:
    return asked.inject


def _plain_inject(asked: Asked) -> list[str]:
    return asked.plain_inject


def ranking_figures(asked: Sequence[Asked], ranked: Ranked) -> dict[str, float]:
    recalls = {f"R@{k}": mean([recall_at(k, ranked(each), each.gold) for each in asked]) for k in DEPTHS}
    return {**recalls, "MRR": mean([reciprocal_rank(ranked(each), each.gold) for each in asked])}


def both_sides(asked: Sequence[Asked]) -> Figures:
    return {
        "n": len(asked),
        "service": ranking_figures(asked, _search),
        "fts5": ranking_figures(asked, _plain),
    }


def intervals(asked: Sequence[Asked]) -> Figures:
    """95 % intervals of the service's figures, and of its lead over plain FTS5 on the same questions."""
    result: Figures = {}
    measures: dict[str, Callable[[list[str], list[str]], float]] = {
        "R@5": lambda ranked, gold: recall_at(5, ranked, gold),
        "R@10": lambda ranked, gold: recall_at(10, ranked, gold),
        "R@20": lambda ranked, gold: recall_at(20, ranked, gold),
        "MRR": reciprocal_rank,
    }
    for name, measure in measures.items():
        ours = [measure(each.search, each.gold) for each in asked]
        plain = [measure(each.plain, each.gold) for each in asked]
        lead = [a - b for a, b in zip(ours, plain, strict=True)]
        result[name] = {
            "value": mean(ours),
            "interval": bootstrap(ours),
            "lead": mean(lead),
            "lead_interval": bootstrap(lead),
        }
    return result


def print_locomo(run: Run) -> Figures:
    numbers = {asked.question.conversation for asked in run.asked}
    groups = {
        name: {label: both_sides(_of(run.asked, within, kinds)) for label, kinds in SLICES.items()}
        for name, within in GROUPS.items()
        if numbers & set(within)
    }
    answered = intervals(_of(run.asked, range(1, 11), ANSWERED))
    print("\n## LoCoMo, turn level, search mode\n")
    _print_ingest(run)
    for name, slices in groups.items():
        print(f"\n### Conversations {name}\n\n{_ranking_table('category', slices, DEPTHS)}")
    print("\nCategories 1-4, all that were asked, 95 % bootstrap over questions:\n")
    print(_interval_table(answered))
    print("\nTargets, for all ten conversations with MiniLM vectors:\n")
    judged = _has_vectors(run) and len(numbers) == 10
    goals = [(name, answered[name]["value"], goal) for name, goal in LOCOMO_TARGETS.items()]
    print(_target_table(goals, judged=judged))
    _print_restart(run)
    return {**_run_figures(run), "groups": groups, "categories_1_4": answered}


def _of(asked: Iterable[Asked], conversations: Iterable[int], kinds: Iterable[str]) -> list[Asked]:
    within, wanted = set(conversations), set(kinds)
    return [a for a in asked if a.question.conversation in within and a.question.group in wanted]


def print_open(run: Run, replaced: Mapping[str, str]) -> Figures:
    questions = [asked for asked in run.asked if asked.gold]
    offtopic = [asked for asked in run.asked if not asked.gold]
    by_type = _by_type(questions)
    search = {name: both_sides(asked) for name, asked in by_type.items()}
    injected = {name: injection_figures(asked, _inject) for name, asked in by_type.items()}
    plain = {name: injection_figures(asked, _plain_inject) for name, asked in by_type.items()}
    silence = {
        "service": silence_figures(offtopic, _inject),
        "fts5": silence_figures(offtopic, _plain_inject),
    }
    stale = stale_figures(questions, run.ingested, replaced)
    print("\n## Open set (coding agents)\n")
    _print_ingest(run)
    print(f"\n### Search mode\n\n{_ranking_table('type', search, (5, 10))}")
    print(f"\n### Inject mode: what would enter the prompt\n\n{_injection_table(injected, plain)}")
    print(f"\n### Silence\n\n{_silence_table(silence)}")
    print(f"\n### current_truth: superseded memory above its successor\n\n{_stale_table(stale)}\n")
    recall = search["**all**"]["service"]["R@5"]
    _print_open_targets(recall, injected["**all**"], silence["service"], judged=_has_vectors(run))
    _print_restart(run)
    return {
        **_run_figures(run),
        "search": search,
        "inject": {"service": injected, "fts5": plain},
        "silence": silence,
        "stale_above_successor": stale,
    }


def _by_type(asked: Sequence[Asked]) -> dict[str, list[Asked]]:
    kinds = sorted({each.question.group for each in asked})
    return {
        **{kind: [a for a in asked if a.question.group == kind] for kind in kinds},
        "**all**": list(asked),
    }


def injection_figures(asked: Sequence[Asked], ranked: Ranked) -> Figures:
    silenced = sum(not ranked(each) for each in asked)
    recalls = [recall_at(5, ranked(each), each.gold) for each in asked]
    useful = sum(len(set(ranked(each)) & set(each.gold)) for each in asked)
    total = sum(len(ranked(each)) for each in asked)
    return {
        "n": len(asked),
        "R@5": mean(recalls),
        "interval": bootstrap(recalls),
        "silenced": silenced / len(asked),
        "silenced_interval": wilson(silenced, len(asked)),
        "mean_injected": total / len(asked),
        "precision": useful / total if total else 0.0,
    }


def silence_figures(offtopic: Sequence[Asked], ranked: Ranked) -> Figures:
    disturbed = sum(bool(ranked(each)) for each in offtopic)
    return {
        "n": len(offtopic),
        "injected_any": disturbed / len(offtopic),
        "interval": wilson(disturbed, len(offtopic)),
        "mean_injected": mean([float(len(ranked(each))) for each in offtopic]),
    }


def stale_figures(asked: Sequence[Asked], ingested: Ingested, replaced: Mapping[str, str]) -> dict[str, float]:
    """Share of current_truth questions whose superseded memory stands above its successor, or alone."""
    pairs = []
    for each in (a for a in asked if a.question.group == "current_truth"):
        new = next(note for note in each.question.gold if note in replaced)
        pairs.append((each, ingested.key(replaced[new]), ingested.key(new)))
    sides: dict[str, Ranked] = {
        "service, search": _search,
        "FTS5, search": _plain,
        "service, inject": _inject,
        "FTS5, inject": _plain_inject,
    }
    return {
        side: mean([float(_position(old, ranked(each)) < _position(new, ranked(each))) for each, old, new in pairs])
        for side, ranked in sides.items()
    }


def _position(uid: str, ranked: Sequence[str]) -> int:
    return ranked.index(uid) if uid in ranked else 10**9


def _percent(value: float) -> str:
    return f"{100 * value:.1f}"


def _range(interval: tuple[float, float]) -> str:
    return f"{_percent(interval[0])} to {_percent(interval[1])}"


def _ranking_table(label: str, slices: Mapping[str, Figures], depths: Sequence[int]) -> str:
    names = [*(f"R@{k}" for k in depths), "MRR"]
    head = [label, "n", *names, *(f"FTS5 {name}" for name in names)]
    rows = [
        [name, str(each["n"]), *(_percent(each[side][n]) for side in ("service", "fts5") for n in names)]
        for name, each in slices.items()
        if each["n"]
    ]
    return table(head, rows)


def _interval_table(measured: Figures) -> str:
    head = ["measure", "service", "95 %", "ahead of FTS5", "95 %"]
    rows = [
        [
            name,
            _percent(m["value"]),
            _range(m["interval"]),
            f"{100 * m['lead']:+.1f}",
            _range(m["lead_interval"]),
        ]
        for name, m in measured.items()
    ]
    return table(head, rows)


def _injection_table(ours: Mapping[str, Figures], plain: Mapping[str, Figures]) -> str:
    head = [
        "type",
        "n",
        "R@5",
        "95 %",
        "silenced",
        "95 %",
        "mean injected",
        "precision",
        "FTS5 R@5",
        "FTS5 silenced",
        "FTS5 precision",
    ]
    rows = [
        [
            name,
            str(each["n"]),
            _percent(each["R@5"]),
            _range(each["interval"]),
            _percent(each["silenced"]),
            _range(each["silenced_interval"]),
            f"{each['mean_injected']:.2f}",
            _percent(each["precision"]),
            _percent(plain[name]["R@5"]),
            _percent(plain[name]["silenced"]),
            _percent(plain[name]["precision"]),
        ]
        for name, each in ours.items()
    ]
    return table(head, rows)


def _silence_table(silence: Mapping[str, Figures]) -> str:
    head = ["off-topic prompts", "n", "any injection", "95 % (Wilson)", "mean injected"]
    rows = [
        [side, str(f["n"]), _percent(f["injected_any"]), _range(f["interval"]), f"{f['mean_injected']:.2f}"]
        for side, f in silence.items()
    ]
    return table(head, rows)


def _stale_table(stale: Mapping[str, float]) -> str:
    return table(["side", "share"], [[side, _percent(share)] for side, share in stale.items()])


def _has_vectors(run: Run) -> bool:
    """Targets of quality are set for vectors; a keyword-only run is shown beside them and not judged."""
    return run.ingested.counts["vector stored"] > 0


def _judgement(reached: bool, *, judged: bool) -> str:
    return mark(reached) if judged else "not judged"


def _target_table(rows: Sequence[tuple[str, float, float]], *, judged: bool) -> str:
    return table(
        ["measure", "reached", "target", ""],
        [
            [name, _percent(value), f">= {_percent(goal)}", _judgement(value >= goal, judged=judged)]
            for name, value, goal in rows
        ],
    )


def _print_open_targets(recall: float, injected: Figures, silence: Figures, *, judged: bool) -> None:
    print("Targets, with MiniLM vectors and cross-validated; the two of inject mode at a setting each:\n")
    print(_target_table([("search R@5", recall, OPEN_TARGET)], judged=judged))
    print()
    rows = [
        [
            f"off-topic <= {_percent(noise)} at R@5 >= {_percent(goal)}",
            f"{_percent(silence['injected_any'])} at {_percent(injected['R@5'])}",
            _judgement(silence["injected_any"] <= noise and injected["R@5"] >= goal, judged=judged),
        ]
        for noise, goal in INJECT_TARGETS
    ]
    print(table(["inject mode", "reached", ""], rows))


def _print_ingest(run: Run) -> None:
    ingested = run.ingested
    total = sum(count for name, count in ingested.counts.items() if name.startswith("status"))
    counts = ", ".join(f"{name}: {count}" for name, count in sorted(ingested.counts.items()) if count)
    print(f"Embedder: {run.health.get('embedder')}")
    print(f"Ingested {total} in {ingested.seconds:.1f} s ({total / ingested.seconds:.0f}/s); {counts}")


def _print_restart(run: Run) -> None:
    after, control = run.restart, run.unchanged
    print(
        f"\nRestart on the same file: {after['identical']} of {after['asked']} queries answered identically "
        f"(largest score difference {after['largest_score_difference']:.2g}); asked twice without a restart: "
        f"{control['identical']} of {control['asked']} ({control['largest_score_difference']:.2g})."
    )


def _run_figures(run: Run) -> Figures:
    return {
        "embedder": run.health.get("embedder"),
        "ingest": {**run.ingested.counts, "seconds": run.ingested.seconds},
        "restart": run.restart,
        "without_restart": run.unchanged,
    }
