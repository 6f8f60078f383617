"""What is removed of the records: with time, and with the memories that they name."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from memories.conf import config
from telemetry.models import HarnessSession, InjectedMemory, Injection


def purge(*, now: datetime) -> int:
    """Remove injections, and sessions not seen, since MEMORY_TTL_INJECTION_DAYS. Returns how many injections."""
    if not config().ttl_injection_days:
        return 0
    oldest = now - timedelta(days=config().ttl_injection_days)
    HarnessSession.objects.filter(last_seen__lt=oldest).delete()
    old = Injection.objects.filter(at__lt=oldest)
    InjectedMemory.objects.filter(injection__in=old).delete()
    return old.delete()[0]


def forget_queries(uids: Sequence[str]) -> None:
    """Blank the query of every injection that named one of the memories, which are being purged."""
    naming = InjectedMemory.objects.filter(memory_uid__in=uids).values_list("injection_id", flat=True)
    Injection.objects.filter(pk__in=naming).exclude(query="").update(query="")
