"""How much a memory counts by its age and use: a pure function of what is stored, asked at read time.

Preferences, decisions, facts, what was consolidated and what is pinned never fade: only artifacts do.
"""

from datetime import UTC, datetime
from math import log
from typing import NamedTuple

from memories.conf import config

MOST_USED = 2.0
"""The natural logarithm of the uses (plus one) beyond which more uses lift no further."""


class Traits(NamedTuple):
    """What ranking needs of a memory besides its text. `last_used` is text in UTC: when it began to hold, was recalled
    or injected last."""

    uid: str
    valid_from: datetime
    injections: int
    fades: bool
    confidence: float
    accesses: int
    last_used: str


def vitality(traits: Traits, *, now: datetime) -> float:
    """A factor of the score, near 1: below for what is old, idle or unsure, above for what is often asked for."""
    settings = config()
    factor = 1 - settings.weight_confidence * (1 - traits.confidence)
    if not traits.fades:
        return factor
    factor *= 1 + settings.weight_frequency * min(log(1 + traits.accesses), MOST_USED) / MOST_USED
    idle = _days_since(traits.last_used, now) - settings.decay_after_days
    if idle > 0 and settings.half_life_days:
        factor *= 1 - settings.weight_recency * (1 - 0.5 ** (idle / settings.half_life_days))
    return factor


def _days_since(moment: str, now: datetime) -> float:
    then = datetime.fromisoformat(moment)
    return (now - then.replace(tzinfo=then.tzinfo or UTC)).total_seconds() / 86_400
