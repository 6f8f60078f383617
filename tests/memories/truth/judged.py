"""Pairs of memories, and what a judge says of them."""

from memories.models import Conflict, Memory
from tests.memories.truth.judges.chats import refusing, said, verdict

SUBJECTS = ("billing", "search", "upload", "login", "export", "invoice", "mailer", "gateway")
OLD = "The {} service keeps its sessions in Postgres."
NEW = "We moved the sessions of the {} service from Postgres to Redis."
YES, NO = said(verdict("contradiction", "It moved.")), said(verdict("compatible", "Another thing."))
BROKEN = refusing(500, "no")


def alike(older: Memory, newer: Memory) -> Conflict:
    """A pair that only vectors take for one."""
    return Conflict.objects.create(older=older, newer=newer, similarity=0.7)


def is_live(memory: Memory) -> bool:
    return Memory.objects.live().filter(pk=memory.pk).exists()
