"""Measures of a ranked list, as `eval/score.py` defines them, with intervals."""

from collections.abc import Collection, Sequence

import numpy as np

RESAMPLES = 5000
SEED = 20261130


def recall_at(k: int, ranked: Sequence[str], gold: Collection[str]) -> float:
    """Share of `gold` among the first `k`."""
    return len(set(gold) & set(ranked[:k])) / len(set(gold))


def reciprocal_rank(ranked: Sequence[str], gold: Collection[str]) -> float:
    """1 / rank of the first of `gold`, 0 if there is none."""
    return next((1 / rank for rank, item in enumerate(ranked, 1) if item in gold), 0.0)


def mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if len(values) else float("nan")


def bootstrap(values: Sequence[float]) -> tuple[float, float]:
    """95 % percentile interval of the mean over resampled questions; the seed is fixed."""
    if not len(values):
        return float("nan"), float("nan")
    rng = np.random.default_rng(SEED)
    data = np.asarray(values, dtype=np.float64)
    means = [data[rng.integers(0, len(data), len(data))].mean() for _ in range(RESAMPLES)]
    low, high = np.percentile(means, [2.5, 97.5])
    return float(low), float(high)


def wilson(hits: int, total: int) -> tuple[float, float]:
    """95 % score interval of a share (Wilson 1927)."""
    if not total:
        return float("nan"), float("nan")
    z = 1.959963984540054
    share, spread = hits / total, z * z / total
    middle = (share + spread / 2) / (1 + spread)
    half = z / (1 + spread) * float(np.sqrt(share * (1 - share) / total + spread / (4 * total)))
    return max(0.0, middle - half), min(1.0, middle + half)


def distinct(items: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(items))
