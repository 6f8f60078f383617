"""How often memories were recalled: counted beside the recall, never in its way, and lost if the process ends."""

import threading
from collections import Counter, deque
from collections.abc import Iterable
from itertools import batched

from django.db import transaction
from django.db.models import F

from memories import clock
from memories.models import Memory

MOST_NOTED = 10_000
AT_ONCE = 500

something_noted = threading.Event()
_noted: deque[int] = deque(maxlen=MOST_NOTED)


def note(ids: Iterable[int]) -> None:
    """Memories were recalled."""
    _noted.extend(ids)
    something_noted.set()


def keep() -> int:
    """Write down what was noted in this process. Returns how many memories were counted."""
    something_noted.clear()
    counts: Counter[int] = Counter()
    while _noted:
        counts[_noted.popleft()] += 1
    now = clock.now()
    by_count: dict[int, list[int]] = {}
    for one, count in counts.items():
        by_count.setdefault(count, []).append(one)
    for count, ids in by_count.items():
        for some in batched(ids, AT_ONCE, strict=False):
            with transaction.atomic():
                Memory.objects.filter(pk__in=some).update(access_count=F("access_count") + count, last_accessed_at=now)
    return len(counts)
