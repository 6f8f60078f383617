"""The purge that the service runs by itself."""

from collections.abc import Callable

import pytest

from memories import lifecycle
from memories.models import Memory
from memsite import maintenance


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
