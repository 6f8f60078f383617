"""Several processes under gunicorn's supervision (`--workers`)."""

import signal
import socket
from typing import Any

from gunicorn.app.base import BaseApplication
from gunicorn.arbiter import Arbiter

from memsite.discovery import health
from memsite.guard import App
from memsite.serve import (
    GRACE_SECONDS,
    Announcement,
    drain_in_background,
    load_application,
    maintain_at_start,
    schedule,
    unschedule,
    work_in_background,
)


def serve_in_processes(listener: socket.socket, announcement: Announcement, *, workers: int) -> None:
    """Serve until a signal ends it."""
    _Supervised(listener, announcement, workers).run()


def answers(url: str) -> bool:
    found = health(url)
    return found is not None and found["status"] == "ok"


class _Supervised(BaseApplication):  # type: ignore[misc]  # gunicorn has no types
    def __init__(self, listener: socket.socket, announcement: Announcement, workers: int) -> None:
        self.listener, self.announcement, self.workers = listener, announcement, workers
        super().__init__()

    def load_config(self) -> None:
        url = self.announcement.service.url
        chosen = {
            # gunicorn duplicates the socket and closes this one.
            "bind": [f"fd://{self.listener.detach()}"],
            "workers": self.workers,
            "worker_class": "asgi",
            "asgi_loop": "asyncio",
            "asgi_lifespan": "on",
            "control_socket_disable": True,
            "keepalive": 2,
            "graceful_timeout": GRACE_SECONDS,
            "loglevel": "warning",
            "worker_exit": lambda _server, _worker: unschedule(),
            "post_worker_init": lambda worker: _after_start(worker, url),
        }
        for name, value in chosen.items():
            self.cfg.set(name, value)

    def load(self) -> App:
        return load_application()

    def run(self) -> None:
        _Arbiter(self).run()


def _after_start(worker: Any, url: str) -> None:
    work_in_background()
    drain_in_background(lambda: answers(url))  # in each: of several one drains, and a worker may be replaced
    schedule()
    if worker.age == 1:
        maintain_at_start(lambda: answers(url))


class _Arbiter(Arbiter):  # type: ignore[misc]  # gunicorn has no types
    """Makes the announcement once a worker answers; gunicorn calls itself ready before it has any."""

    announced = False

    def wait_for_signals(self, timeout: float = 1.0) -> list[signal.Signals]:
        # Between forks, in the main thread: a thread would make forking unsafe.
        if not self.announced and answers(self.app.announcement.service.url):
            self.announced = True
            self.app.announcement.make()
        signals: list[signal.Signals] = super().wait_for_signals(timeout if self.announced else 0.05)
        return signals

    def stop(self, graceful: bool = True) -> None:
        self.app.announcement.take_back()
        super().stop(graceful)
