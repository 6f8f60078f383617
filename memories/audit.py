"""The trail of who did what. Entries never hold memory text; the database refuses to change or remove one."""

from datetime import datetime

from memories import statements
from memories.models import AuditEntry


def record(action: str, *, actor: str, scope: str, now: datetime, uid: str = "", **detail: object) -> AuditEntry:
    entry = AuditEntry(action=action, actor=actor, scope=scope, memory_uid=uid, at=now, detail=detail)
    statements.insert(entry)
    return entry


def record_each(action: str, uids: list[str], *, actor: str, scope: str, now: datetime) -> None:
    AuditEntry.objects.bulk_create(
        [AuditEntry(action=action, actor=actor, scope=scope, memory_uid=uid, at=now) for uid in uids],
        batch_size=500,
    )
