"""Work beside the service, in threads for which the end of the process does not wait."""

import functools
import logging
import threading
import time
from collections.abc import Callable

from django.db import connections

LOOK_SECONDS = 0.2

log = logging.getLogger(__name__)


def start(work: Callable[[], object], *, name: str, when: Callable[[], bool] = lambda: True) -> None:
    """Do it in a thread, once `when` is true."""

    def patiently() -> None:
        while not when():
            time.sleep(LOOK_SECONDS)
        work()

    threading.Thread(target=logged(patiently, name=name), name=name, daemon=True).start()


def logged(work: Callable[[], object], *, name: str) -> Callable[[], None]:
    """The same work, whose error is logged and ends nothing, and which leaves no connection open."""

    @functools.wraps(work)
    def done() -> None:
        try:
            work()
        except Exception:
            log.exception("In the background failed: %s", name)
        finally:
            connections.close_all()

    return done
