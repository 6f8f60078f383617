"""A connection that knows the schema from before another one's VACUUM works on, whatever it does next."""

import contextlib
import sqlite3
from collections.abc import Callable

import pytest
from django.db import connection

from memories import lifecycle, listing
from memories.edit import edit
from memories.models import Memory
from memories.recall import Question, recall
from memories.remember import Draft, remember
from telemetry import injections, sessions

pytestmark = pytest.mark.django_db(transaction=True)

WARM: dict[str, Callable[[], object]] = {
    "nothing": lambda: connection.cursor().close(),
    "list": lambda: listing.page(listing.Filters(scope="default")),
    "recall": lambda: recall(Question(query="parrot", mode="search")),
    "prompt": lambda: sessions.next_prompt(scope="default", harness="", session="s"),
}
THEN: dict[str, Callable[[str], object]] = {
    "remember": lambda uid: remember(Draft(content="The owl is brown.")),
    "supersede": lambda uid: remember(Draft(content="The parrot is blue.", supersedes=[uid])),
    "recall": lambda uid: recall(Question(query="parrot")),
    "edit": lambda uid: edit(uid, actor="me", project="acme/shop"),
    "forget": lambda uid: lifecycle.forget(uid, actor="me"),
    "forget all": lambda uid: lifecycle.forget_all(Memory.objects.filter(uid=uid), actor="me"),
    "restore": lambda uid: lifecycle.restore(GONE[0], actor="me"),
    "purge": lambda uid: lifecycle.purge(actor="me"),
    "reindex": lambda uid: lifecycle.reindex(),
    "report": lambda uid: injections.report(injections.Report(scope="default", session="s", uids=[uid])),
}
GONE: list[str] = []


@pytest.mark.parametrize("warm", WARM)
@pytest.mark.parametrize("then", THEN)
def test_maintenance_elsewhere_fails_nobody(warm: str, then: str, remembered: Callable[..., Memory]) -> None:
    uid = remembered("The parrot is green.").uid
    GONE[:] = [remembered("The raven is gone.").uid]
    lifecycle.forget(GONE[0], actor="me")
    connection.close()
    WARM[warm]()
    with contextlib.closing(sqlite3.connect(connection.settings_dict["NAME"])) as other:
        other.execute("VACUUM")
    THEN[then](uid)
    assert lifecycle.problems() == []
