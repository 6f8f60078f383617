"""One of several processes at a time: rows that are claimed, and lapse by themselves if their owner was killed."""

from datetime import timedelta

from django.db import transaction
from django.db.models import Q

from memories import clock
from memories.models import Lease


def claim(name: str, *, owner: str, seconds: float) -> bool:
    """Take or renew a lease for some seconds. False while another owner has it."""
    return _take(name, owner=owner, seconds=seconds, mine=Q(owner=owner))


def claim_turn(name: str, *, owner: str, seconds: float) -> bool:
    """Whether something is due that is to happen once in some seconds, whoever did it last; then it counts as done."""
    return _take(name, owner=owner, seconds=seconds, mine=Q(pk__in=()))


def release(name: str, *, owner: str) -> None:
    Lease.objects.filter(name=name, owner=owner).delete()


@transaction.atomic
def _take(name: str, *, owner: str, seconds: float, mine: Q) -> bool:
    now = clock.now()
    until = now + timedelta(seconds=seconds)
    # One that ends too late was made before the clock, or the interval, was put back.
    free = mine | Q(until__lte=now) | Q(until__gt=until)
    if Lease.objects.filter(free, name=name).update(owner=owner, until=until):
        return True
    return Lease.objects.get_or_create(name=name, defaults={"owner": owner, "until": until})[1]
