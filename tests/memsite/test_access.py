import re
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from mcpbridge import pool
from memories import tokens
from memories.errors import NotFound, Rejected, Unauthorized
from memories.models import AccessToken, AuditEntry
from memories.places import label
from memsite.access import (
    OWNER,
    VISITOR,
    authenticate,
    authentication_is_on,
    login_link,
)

pytestmark = pytest.mark.django_db


def make_token(name: str = "client", **fields: object) -> str:
    token = tokens.create(name, actor="ada")
    AccessToken.objects.filter(name=name).update(**{"last_used": timezone.now(), **fields})
    return token


def test_without_any_token_everyone_is_a_visitor_who_may_not_maintain() -> None:
    assert not authentication_is_on()
    assert authenticate(None) is VISITOR
    assert authenticate("Bearer whatever") is VISITOR
    assert VISITOR.may_write
    assert not VISITOR.may_maintain


def test_the_owner_token_switches_authentication_on(configure: Callable[..., None]) -> None:
    configure(token="s3cret")
    assert authentication_is_on()
    assert authenticate("Bearer s3cret") is OWNER
    assert OWNER.may_maintain


def test_an_access_token_switches_authentication_on_and_carries_its_rights() -> None:
    token = make_token("reader", scopes=["a", "b"], may_write=False, may_maintain=True)
    assert authentication_is_on()
    found = authenticate(f"Bearer {token}")
    assert (found.name, found.scopes) == ("reader", {"a", "b"})
    assert (found.may_write, found.may_maintain) == (False, True)


@pytest.mark.parametrize(
    "authorization",
    [
        None,
        "",
        "Bearer",
        "Bearer ",
        "Bearer wrong",
        "Basic b3duZXI6czNjcmV0",
        "s3cret",
        "Bearer s3cret x",
        "Bearer \udcff",
    ],
)
@pytest.mark.parametrize("by", ["owner", "client"])
def test_anything_but_a_valid_bearer_is_unauthorized(
    configure: Callable[..., None], authorization: str | None, by: str
) -> None:
    if by == "owner":
        configure(token="s3cret")
    else:
        make_token()
    with pytest.raises(Unauthorized):
        authenticate(authorization)


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
def test_the_scheme_is_compared_without_case(configure: Callable[..., None], scheme: str) -> None:
    configure(token="s3cret")
    assert authenticate(f"{scheme} s3cret") is OWNER


def test_a_revoked_token_is_no_token() -> None:
    token, other = make_token("gone", revoked=timezone.now()), None
    assert not authentication_is_on()
    assert authenticate(f"Bearer {token}") is VISITOR
    other = make_token("other")
    with pytest.raises(Unauthorized):
        authenticate(f"Bearer {token}")
    assert authenticate(f"Bearer {other}").name == "other"


def test_an_access_token_counts_beside_the_owner_token(configure: Callable[..., None]) -> None:
    configure(token="s3cret")
    assert authenticate(f"Bearer {make_token()}").name == "client"


def test_a_request_costs_one_query_at_most(
    configure: Callable[..., None], django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    tokens = [make_token(str(number)) for number in range(3)]
    with django_assert_num_queries(1):
        authenticate(f"Bearer {tokens[2]}")
    with django_assert_num_queries(1), pytest.raises(Unauthorized):
        authenticate("Bearer wrong")
    configure(token="s3cret")
    with django_assert_num_queries(0):
        authenticate("Bearer s3cret")


def test_tokens_are_unguessable_and_only_their_hash_is_kept() -> None:
    token = tokens.create("one", actor="ada")
    assert re.fullmatch(r"memsite_[\w-]{43}", token)
    kept = AccessToken.objects.get(name="one").token_hash
    assert kept == tokens.hash_of(token)
    assert re.fullmatch(r"[0-9a-f]{64}", kept)
    assert tokens.create("two", actor="ada") != token


def test_a_token_reaches_the_scopes_as_requests_name_them() -> None:
    tokens.create("team", scopes=[" team\u200b "], actor="ada")
    assert AccessToken.objects.get(name="team").scopes == [label(" team\u200b ", name="scope")]
    for scope in ("", " ", "\0", "x" * 201):
        with pytest.raises(Rejected):
            tokens.create("nobody", scopes=["team", scope], actor="ada")


def test_the_audit_knows_of_every_token() -> None:
    tokens.create("laptop", actor="ada")
    assert tokens.revoke(AccessToken.objects.all(), actor="grace") == ["laptop"]
    assert tokens.revoke(AccessToken.objects.all(), actor="grace") == []
    trail = AuditEntry.objects.order_by("pk").values_list("action", "actor", "detail")
    assert list(trail) == [("token", "ada", {"token": "laptop"}), ("revoke", "grace", {"token": "laptop"})]


def test_the_use_of_a_token_is_recorded_once_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "soon", lambda function, **fields: function(**fields))
    recent = timezone.now() - timedelta(seconds=30)
    make_token("recent", last_used=recent)
    old = make_token("old", last_used=timezone.now() - timedelta(seconds=61))
    unused = make_token("unused", last_used=None)
    for token in (old, unused):
        authenticate(f"Bearer {token}")
        row = AccessToken.objects.get(token_hash=tokens.hash_of(token))
        assert row.last_used is not None
        assert timezone.now() - row.last_used < timedelta(seconds=10)
    assert AccessToken.objects.get(name="recent").last_used == recent


@pytest.mark.django_db(transaction=True)
def test_recording_the_use_happens_outside_the_request(fresh_pool: None) -> None:
    token = make_token(last_used=None)
    assert authenticate(f"Bearer {token}").name == "client"
    assert pool.shutdown(5)  # waits for the background call if it began
    assert AccessToken.objects.count() == 1


def test_a_login_link_is_for_the_first_superuser_or_the_one_named() -> None:
    User.objects.create_user("clerk", is_staff=True)
    User.objects.create_superuser("owner")
    owner, clerk = login_link("http://127.0.0.1:1/"), login_link("http://127.0.0.1:1", "clerk")
    assert owner.startswith("http://127.0.0.1:1/admin/link/?sesame=")
    assert owner != clerk


@pytest.mark.parametrize("username", ["", "nobody"])
def test_there_is_no_login_link_without_an_admin_user(username: str) -> None:
    User.objects.create_user("plain")
    with pytest.raises(NotFound):
        login_link("http://127.0.0.1:1", username)
