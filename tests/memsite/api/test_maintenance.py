"""The gate of maintenance as a client meets it: through the whole application."""

from collections.abc import Callable

import pytest

from memories.models import Memory
from tests.memsite.api.conftest import Rest

PURGE, BACKFILL = "/api/maintenance/purge", "/api/maintenance/backfill"


@pytest.mark.parametrize("path", [PURGE, BACKFILL])
def test_while_authentication_is_off_it_is_forbidden_even_with_a_token(stack: Callable[..., Rest], path: str) -> None:
    for secret in ("", "anything"):
        assert stack(secret).post(path).code == (403, "forbidden")


@pytest.mark.parametrize("path", [PURGE, BACKFILL])
def test_while_authentication_is_on_a_bearer_is_needed_that_may(
    stack: Callable[..., Rest], token: Callable[..., str], path: str
) -> None:
    client, caretaker = token("client"), token("caretaker", may_maintain=True)
    for secret in ("", "wrong"):
        answer = stack(secret).post(path)
        assert answer.code == (401, "unauthorized")
        assert answer.headers["www-authenticate"] == "Bearer"
    assert stack(client).post(path).code == (403, "forbidden")
    assert stack(caretaker).post(path).status == 200


def test_the_owner_purges_what_was_forgotten_and_expired(
    stack: Callable[..., Rest], configure: Callable[..., None]
) -> None:
    configure(token="the owner's")
    owner = stack("the owner's")
    kept = owner.keep("tea")
    owner.delete(f"/api/memories/{owner.keep('gone')}")
    assert owner.post(PURGE).json == {"forgotten": 1, "expired": 0, "scrubbed": True, "reason": ""}
    assert list(Memory.objects.values_list("uid", flat=True)) == [kept]
    assert owner.post(BACKFILL).json == {"repaired": 0, "pending": 0}
    assert owner.get(PURGE).code == (405, "method_not_allowed")
