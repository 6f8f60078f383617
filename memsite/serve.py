"""Starting the service: one process on uvicorn, or several under gunicorn."""

import errno
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass

import uvicorn
from django.conf import settings
from django.core.checks import Tags, run_checks
from django.db import DEFAULT_DB_ALIAS, connections
from django.urls import get_resolver

from mcpbridge import pool
from memories.errors import MemoriesError
from memsite import autostart, background, discovery
from memsite.access import authentication_is_on, login_link
from memsite.guard import EVERY_ADDRESS, App, in_url, is_loopback, local_url
from memsite.store import prepare_store

GRACE_SECONDS = 10
POOL_GRACE_SECONDS = 5
BACKLOG = 512

logger = logging.getLogger(__name__)


class CannotServe(MemoriesError):
    """The service cannot start; the message is one line for the terminal."""

    code = "cannot_serve"


@dataclass(frozen=True)
class Announcement:
    """What is made known once the service answers, and taken back when it ends."""

    service: discovery.Service
    login: str = ""

    def make(self) -> None:
        path = settings.MEMORY.discovery
        if path is not None:
            try:
                discovery.publish(path, self.service)
            except OSError as error:
                complain(f"{path} cannot be written, clients must be told the address: {error.strerror}.")
        try:
            sys.stdout.write(f"MEMORY_MCP_LISTENING {self.service.public()}\n")
            sys.stdout.flush()
        except OSError:
            logger.warning("Nobody reads the standard output of the service")
        if self.login:
            sys.stderr.write(f"Open the admin (once, within five minutes): {self.login}\n")

    def take_back(self) -> None:
        if settings.MEMORY.discovery is not None:
            discovery.retract(settings.MEMORY.discovery)


def serve(*, host: str | None = None, port: int | None = None, workers: int = 1) -> None:
    """Serve until a signal ends it. Raises MemoriesError with one line if it cannot start."""
    given = {name: value for name, value in (("host", host), ("port", port)) if value is not None}
    os.umask(0o077)  # what SQLite makes is for the owner alone
    # The guard allows a concrete MEMORY_HOST by itself.
    settings.MEMORY = settings.MEMORY.model_copy(update=given)
    if not autostart.is_wanted(settings.MEMORY.discovery):
        complain("An agent program has started a service for this database already.")
        return
    is_first_start = prepare_store()
    _show_checks()
    listener = listen(settings.MEMORY.host, settings.MEMORY.port)
    _check_exposure(listener)
    url, bound_port = address(settings.MEMORY.host, listener)
    service = discovery.Service.at(url, port=bound_port, token=settings.MEMORY.token)
    login = login_link(url) if is_first_start and sys.stderr.isatty() else ""
    connections.close_all()
    if workers > 1:
        from memsite.supervise import serve_in_processes  # noqa: PLC0415 - gunicorn only where it is asked for

        serve_in_processes(listener, Announcement(service, login), workers=workers)
    else:
        _serve_alone(listener, Announcement(service, login))


def listen(host: str, port: int) -> socket.socket:
    """A listening socket. Raises CannotServe with one line."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (socket.gaierror, UnicodeError, ValueError):
        raise CannotServe(f"MEMORY_HOST={host!r} is no address or host name of this machine.") from None
    family, _, _, _, where = min(found, key=lambda entry: entry[0] != socket.AF_INET)
    # asyncio switches Nagle's algorithm off (40 ms a request) only on sockets with this protocol number.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        listener.bind(where)
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise CannotServe(_cannot_bind(host, port, error)) from None
    return listener


def address(host: str, listener: socket.socket) -> tuple[str, int]:
    """URL and port at which a client on this machine reaches a listener that was asked for as `host`."""
    bound, port = listener.getsockname()[:2]
    if host in EVERY_ADDRESS:
        host = "127.0.0.1" if listener.family == socket.AF_INET else "::1"
    elif host == "localhost":
        host = bound
    return f"http://{in_url(host)}:{port}", port


def complain(sentence: str) -> None:
    sys.stderr.write(f"memory-mcp: {sentence}\n")


def maintain_at_start(when: Callable[[], bool] = lambda: True) -> None:
    """Run the maintenance of a start in the background once `when` is true, if it is switched on."""

    def work() -> None:
        from memsite.maintenance import run_at_start  # noqa: PLC0415 - not needed to begin serving

        run_at_start()

    if settings.MEMORY.maintenance_on_start:
        background.start(work, name="maintenance", when=when)


def work_in_background() -> None:
    """In every process that serves: embed and judge what waits for a model, and count what was recalled."""
    from memsite import maintenance  # noqa: PLC0415 - not needed to begin serving

    for work in (maintenance.embed_for_ever, maintenance.judge_for_ever, maintenance.count_accesses_for_ever):
        background.start(work, name=work.__name__)


def drain_in_background(when: Callable[[], bool] = lambda: True) -> None:
    """Remember what hooks wrote down while no service answered, at once and from then on."""

    def work() -> None:
        from memsite.spool import drain_for_ever  # noqa: PLC0415 - not needed to begin serving

        drain_for_ever()

    background.start(work, name="spool", when=when)


def schedule() -> None:
    """Do what is scheduled, in every process that serves: one of them works, the others stand by."""
    if settings.MEMORY.scheduler:
        from memsite import scheduler  # noqa: PLC0415 - only where it is asked for

        scheduler.start()


def unschedule() -> None:
    if settings.MEMORY.scheduler:
        from memsite import scheduler  # noqa: PLC0415

        scheduler.stop()


class _Server(uvicorn.Server):
    """Makes its announcement when it really serves, and takes it back before it stops listening."""

    def __init__(self, config: uvicorn.Config, announcement: Announcement) -> None:
        super().__init__(config)
        self.announcement = announcement

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        self.announcement.make()
        drain_in_background()
        maintain_at_start()
        work_in_background()
        schedule()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.announcement.take_back()
        await super().shutdown(sockets=sockets)


def _serve_alone(listener: socket.socket, announcement: Announcement) -> None:
    server = _Server(_config(load_application()), announcement)

    def leave(*_: object) -> None:
        server.should_exit = True

    # uvicorn raises the signal again after its graceful end, which would make the exit code 143.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, leave)
    server.run(sockets=[listener])
    unschedule()
    if not pool.shutdown(POOL_GRACE_SECONDS):
        logger.warning("A request was still at work when the service ended")
        sys.stdout.flush()
        os._exit(0)


def _config(application: App) -> uvicorn.Config:
    return uvicorn.Config(
        application,
        http="httptools",
        loop="auto",
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )


def load_application() -> App:
    """The ASGI application with its URLs imported, so that the first request is as quick as the others."""
    from memsite.asgi import application  # noqa: PLC0415 - reads the settings, which serve() completes

    _ = get_resolver().url_patterns
    return application


def _show_checks() -> None:
    for issue in run_checks(tags=[Tags.database], databases=[DEFAULT_DB_ALIAS]):
        complain(" ".join(str(issue).split()))


def _check_exposure(listener: socket.socket) -> None:
    """Raises CannotServe if others reach the service without a token."""
    if is_loopback(listener.getsockname()[0].partition("%")[0]):
        return
    if not authentication_is_on():
        raise CannotServe(
            f"MEMORY_HOST={settings.MEMORY.host!r} can be reached by others, which needs authentication:"
            " set MEMORY_TOKEN, or run `memory-mcp token create NAME` first."
        )
    if settings.MEMORY.host in EVERY_ADDRESS and not settings.MEMORY.allowed_hosts:
        complain("Only requests to localhost are answered: set MEMORY_ALLOWED_HOSTS to the names clients use.")


def _cannot_bind(host: str, port: int, error: OSError) -> str:
    change = "set MEMORY_PORT or --port to another one (0 = any free one)"
    if error.errno == errno.EADDRINUSE:
        url = local_url(host, port)
        found = discovery.health(url, seconds=1)
        if found is not None:
            return f"A memory service already runs at {url} (pid {found['pid']}); to run another one, {change}."
        return f"Port {port} of {host} is taken by another program; {change}."
    if error.errno == errno.EACCES:
        return f"Port {port} needs more rights than this user has; {change}."
    return f"MEMORY_HOST={host!r} cannot be listened on: {error.strerror}."
