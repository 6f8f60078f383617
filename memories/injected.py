"""What injections do to memories: counted once a session by the reporting side, and a reason to be kept."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from django.db.models import F

from memories.models import Memory

MOST_IN_ONE_REPORT = 500


def known(uids: Sequence[str], *, scope: str) -> list[str]:
    """Of some uids those of memories in a scope that are not forgotten, in their order."""
    asked = list(dict.fromkeys(uids))[:MOST_IN_ONE_REPORT]
    found = set(
        Memory.objects.in_scope(scope)
        .identified(asked)
        .filter(deleted_at=None)
        .order_by()
        .values_list("uid", flat=True)
    )
    return [uid for uid in asked if uid in found]


def count(uids: Sequence[str], first_time: Sequence[str], *, now: datetime) -> None:
    """Note that memories were injected now; those of `first_time` count towards their boost."""
    Memory.objects.filter(uid__in=uids).update(last_injected_at=now)
    Memory.objects.filter(uid__in=first_time).update(injection_count=F("injection_count") + 1)


def most(*, scopes: Iterable[str] = (), limit: int = 10) -> list[tuple[str, int]]:
    """The memories injected in most sessions: (uid, count)."""
    memories = Memory.objects.filter(deleted_at=None, injection_count__gt=0)
    wanted = list(scopes)
    if wanted:
        memories = memories.filter(scope__in=wanted)
    return list(memories.order_by("-injection_count", "-pk").values_list("uid", "injection_count")[:limit])
