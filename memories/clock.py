"""Rules of time. One clock, `timezone.now()`, is read once per operation and passed down. UTC inside."""

from datetime import UTC, date, datetime, timedelta

from django.utils import timezone

from memories.errors import Rejected

GRACE = timedelta(minutes=1)
"""How far ahead a client's clock may be and still mean now."""


def now() -> datetime:
    return timezone.now()


def moment(value: str | date | None, *, name: str) -> datetime | None:
    """A point in time in UTC from ISO 8601; a date alone means its start in UTC.

    Raises Rejected for anything else, a time without an offset included.
    """
    if value is None or value == "":
        return None
    try:
        parsed = value if isinstance(value, date) else _parse(value.strip())
        if not isinstance(parsed, datetime):
            return datetime(parsed.year, parsed.month, parsed.day, tzinfo=UTC)
        if parsed.tzinfo is None:
            raise Rejected(f"{name} needs an offset from UTC, such as 2026-03-01T12:00:00Z.")
        return parsed.astimezone(UTC)
    except (ValueError, OverflowError):
        raise Rejected(
            f"{name} is not a date or time in ISO 8601, such as 2026-03-01 or 2026-03-01T12:00:00Z."
        ) from None


def _parse(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return datetime.fromisoformat(text)


def past(value: str | date | None, *, name: str, now: datetime) -> datetime | None:
    """Like `moment`, for a time that must not lie ahead; within a minute of now it is now."""
    when = moment(value, name=name)
    if when is None or when <= now:
        return when
    if when - now > GRACE:
        raise Rejected(f"{name} lies in the future.")
    return now
