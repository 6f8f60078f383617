"""A store with everything an archive must carry, and an import as an interface calls it."""

import io
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from memories import lifecycle
from memories.models import AuditEntry, Conflict, Memory, Passage, Reason
from memories.transfer import source
from memories.transfer.exporting import Extent, export
from memories.transfer.importing import Target, bring_in
from memories.transfer.report import Report
from memories.transfer.source import Source

type Remembered = Callable[..., Memory]
ODD_TAGS = ["a,b", 'say "hi"', "標籤", "=1+1", "🦜", "it's", "back\\slash", "née"]


def exported(**extent: Any) -> str:
    return "".join(export(Extent(**extent)))


def brought(content: str | bytes, *, name: str = "upload", format: str = "auto", **target: Any) -> Report:  # noqa: A002
    data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    return bring_in(Source(name, io.BytesIO(data)), Target(actor="ada", **target), format=format)


def from_path(path: Path, *, format: str = "auto", **target: Any) -> Report:  # noqa: A002
    given = source.of_path(path)
    try:
        return bring_in(given, Target(actor="ada", **target), format=format)
    finally:
        if given.file:
            given.file.close()


def contents(**fields: Any) -> list[str]:
    return sorted(Memory.objects.live().filter(**fields).values_list("content", flat=True))


def state() -> list[dict[str, Any]]:
    """Every column of every row that an import could touch."""
    return [row for model in (Memory, Conflict, AuditEntry, Passage) for row in model.objects.order_by("pk").values()]


def empty_store() -> None:
    Conflict.objects.all().delete()
    Memory.objects.update(superseded_by=None)
    Memory.objects.all().delete()
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM memories_fts WHERE memories_fts MATCH 'parrot'")


def lines(entries: Iterable[str]) -> str:
    return "".join(f"{entry}\n" for entry in entries)


@pytest.fixture
def rich(remembered: Remembered) -> set[str]:
    """Fills the store; returns the uids that must never leave it."""
    for kind in ("preference", "decision", "fact", "artifact"):
        remembered(f"the {kind} parrot", kind=kind, tags=ODD_TAGS, harness="claude", session="s1", actor="ada")
    remembered("這隻鸚鵡是綠色的，第二行\n第三行\u2028末", project="acme/shop", pinned=True, confidence=0.3)
    remembered("a needle at the end " + "filler words here " * 12_000 + "zzyzx", source="tool")
    remembered("for an hour only", ttl_seconds=3600, scope="team")
    remembered("since March", valid_from="2026-03-01", tags=[])
    first = remembered("the cap is 1k", project="acme/shop")
    second = remembered("the cap is 2k", supersedes=[first.uid])
    third = remembered("the cap is 3k", supersedes=[second.uid])
    wrong = remembered("the port is 80")
    remembered("the port is 8080", supersedes=[wrong.uid], correction=True)
    summary = remembered("both parrots sleep", source="consolidation", run="r1")
    Memory.objects.filter(pk=summary.pk).update(access_count=7, injection_count=3, last_injected_at=summary.created_at)
    old, new = remembered("we use tabs"), remembered("we use spaces")
    Conflict.objects.create(
        older=old, newer=new, similarity=0.912345678901234, verdict="rejected", judge="none", evidence='"tabs"',
        reason="both hold\nhere", decided_by="ada", decided_at=new.created_at,
    )  # fmt: skip
    Conflict.objects.create(older=second, newer=third, similarity=0.5)
    closed = remembered("true no more")
    Memory.objects.filter(pk=closed.pk).update(valid_to=closed.valid_from, superseded_reason=Reason.MERGE)
    gone = remembered("the forgotten parrot")
    expired = remembered("the expired parrot", ttl_seconds=60)
    Memory.objects.filter(pk=expired.pk).update(expires_at=expired.created_at)
    for one in (gone, expired):
        Conflict.objects.create(older=first, newer=one, similarity=0.1)
    lifecycle.forget(gone.uid, actor="ada")
    gap = remembered("version one"), remembered("version two")
    Memory.objects.filter(pk=gap[0].pk).update(superseded_by=gap[1].pk, valid_to=gap[1].valid_from)
    last = remembered("version three")
    Memory.objects.filter(pk=gap[1].pk).update(superseded_by=last.pk, valid_to=last.valid_from)
    lifecycle.forget(gap[1].uid, actor="ada")
    return {gone.uid, expired.uid, gap[1].uid}
