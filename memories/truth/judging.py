"""Pairs that a slow judge could not rule on while somebody waited: asked again when nobody does."""

import logging
import threading
import time
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import QuerySet

from memories import clock
from memories.errors import MemoriesError
from memories.models import Conflict
from memories.truth import judges
from memories.truth.conflicts import settle
from memories.truth.judges import Case, Judge, JudgeAway, JudgeFailed, Ruling

PATIENCE_SECONDS = 120.0
PAUSES_SECONDS = (60.0, 600.0, 3600.0)
"""After the first failure over a pair, the second and every further one."""
MOST_TRIES = 3
"""For a pair that only the judge takes for one: then it is none."""
LONGEST_WAIT = timedelta(days=7)
"""The same while the judge cannot be asked at all."""
NO_VERDICT = "no verdict"
ABSTAINED = "the judge leaves it to a person"

logger = logging.getLogger(__name__)
something_waits = threading.Event()


@dataclass(frozen=True)
class _Failure:
    tries: int
    until: float


_failures: dict[int, _Failure] = {}
"""By pair. Kept by this process only: the next one tries again at once."""


def unjudged() -> QuerySet[Conflict]:
    """Pending pairs of memories that hold, on which no judge has ruled; the oldest first."""
    pairs = Conflict.objects.filter(verdict=Conflict.Verdict.PENDING, judge="")
    living = pairs.filter(
        older__valid_to=None, newer__valid_to=None, older__deleted_at=None, newer__deleted_at=None
    ).select_related("older", "newer")
    return living.order_by("created_at", "pk")


def later() -> None:
    """Tell whoever calls `judge_pending` that there may be something to do."""
    if judges.current().is_slow:
        something_waits.set()


def judge_pending() -> int:
    """Ask the judge about what is pending, as long as it can be asked. Returns how many pairs are settled now."""
    judge, now = judges.current(), clock.now()
    done = sum(_close(pk, judge) for pk in _hopeless(judge, now=now))
    if not judge.is_slow:
        return done
    for pk in list(unjudged().values_list("pk", flat=True)):
        failure = _failures.get(pk)
        if failure and time.monotonic() < failure.until:
            continue
        try:
            done += _judge(pk, judge)
        except JudgeAway as error:
            logger.debug("Contradictions are judged later: %s", error)
            break
        except JudgeFailed as error:
            logger.info("Conflict %s is judged later: %s", pk, error)
            done += _note_failure(pk, judge)
    return done


def _judge(pk: int, judge: Judge) -> bool:
    """Ask about one pair and keep the verdict. Raises JudgeFailed."""
    pair = unjudged().filter(pk=pk).first()
    if pair is None:
        return False
    case = Case(pair.older.content, pair.newer.content, pair.evidence)
    return _keep(pk, judge, judge.rule(case, patience=PATIENCE_SECONDS))


@transaction.atomic
def _keep(pk: int, judge: Judge, ruling: Ruling | None) -> bool:
    """Settle a pair, unless somebody did so or its memories ended while the judge was thinking."""
    pair = unjudged().filter(pk=pk).first()
    if pair is None:
        return False
    _failures.pop(pk, None)
    Conflict.objects.filter(pk=pk).update(judge=judge.name)
    if ruling:
        return _settle(pk, ruling.verdict, judge, reason=ruling.reason)
    if pair.evidence:
        Conflict.objects.filter(pk=pk).update(reason=ABSTAINED)
        return False
    return _settle(pk, Conflict.Verdict.REJECTED, judge, reason=ABSTAINED)


def _settle(pk: int, verdict: str, judge: Judge, *, reason: str) -> bool:
    try:
        settle(pk, verdict, actor=f"judge:{judge.name}", reason=reason)
    except MemoriesError as error:
        logger.warning("Conflict %s cannot be settled: %s", pk, error)
        return False
    return True


def _note_failure(pk: int, judge: Judge) -> bool:
    """Remember to ask again later. True if there is no later: the pair is rejected."""
    tries = _failures[pk].tries + 1 if pk in _failures else 1
    if tries >= MOST_TRIES and unjudged().filter(pk=pk, evidence="").exists():
        return _close(pk, judge)
    pause = PAUSES_SECONDS[min(tries, len(PAUSES_SECONDS)) - 1]
    _failures[pk] = _Failure(tries, time.monotonic() + pause)
    return False


def _hopeless(judge: Judge, *, now: datetime) -> list[int]:
    """Pairs without evidence for which no judge is left, or that have waited too long for it."""
    alone = unjudged().filter(evidence="")
    if judge.is_slow:
        alone = alone.filter(created_at__lt=now - LONGEST_WAIT)
    return list(alone.values_list("pk", flat=True))


@transaction.atomic
def _close(pk: int, judge: Judge) -> bool:
    _failures.pop(pk, None)
    still = unjudged().filter(pk=pk).exists()
    return still and _settle(pk, Conflict.Verdict.REJECTED, judge, reason=NO_VERDICT)
