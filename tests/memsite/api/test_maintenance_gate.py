"""Maintenance over HTTP: authentication must be on, and the token must be allowed to."""

from collections.abc import Callable

import pytest
from django.test import Client

from memories import lifecycle
from memories.models import AccessToken, Memory
from memories.principal import Principal
from memsite import maintenance
from memsite.access import new_token
from memsite.api import maintenance as views

pytestmark = pytest.mark.django_db
CALLS = ["/api/maintenance/purge", "/api/maintenance/backfill"]


@pytest.fixture
def as_principal(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """What the guard would have found."""

    def set_to(**fields: bool) -> None:
        monkeypatch.setattr(views.who, "principal", lambda request: Principal(name="ci", **fields))

    return set_to


@pytest.fixture
def authentication_on() -> None:
    AccessToken.objects.create(name="ci", token_hash=new_token()[1])


@pytest.mark.parametrize("call", CALLS)
def test_without_authentication_it_is_forbidden_whoever_asks(call: str, as_principal: Callable[..., None]):
    as_principal(may_maintain=True)
    assert Client().post(call, content_type="application/json").status_code == 403


@pytest.mark.usefixtures("authentication_on")
@pytest.mark.parametrize("call", CALLS)
def test_a_token_without_the_right_is_forbidden(call: str, as_principal: Callable[..., None]):
    as_principal(may_maintain=False)
    answer = Client().post(call, content_type="application/json")
    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")


@pytest.mark.usefixtures("authentication_on")
def test_a_token_with_the_right_gets_the_report(as_principal: Callable[..., None]):
    as_principal(may_maintain=True)
    assert Client().post(CALLS[0], content_type="application/json").json() == {
        "forgotten": 0,
        "expired": 0,
        "scrubbed": True,
        "reason": "",
    }
    assert Client().post(CALLS[1], content_type="application/json").json() == {"repaired": 0, "pending": 0}


@pytest.mark.django_db(transaction=True)
def test_maintenance_at_start_purges_and_never_fails(
    remembered: Callable[..., Memory], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    lifecycle.forget(remembered("The parrot is green.").uid, actor="me")
    maintenance.run_at_start()
    assert not Memory.objects.exists()
    monkeypatch.setattr(lifecycle, "purge", lambda **options: 1 / 0)
    maintenance.run_at_start()
    assert "ZeroDivisionError" in caplog.text
