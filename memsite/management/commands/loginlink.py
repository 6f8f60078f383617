from argparse import ArgumentParser
from typing import Any

from django.conf import settings

from memories.errors import NotFound
from memsite import discovery
from memsite.access import login_link
from memsite.guard import local_url
from memsite.management.store_command import StoreCommand


class Command(StoreCommand):
    help = "Print a link that logs you into the admin, once, within five minutes."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("username", nargs="?", default="", help="whose link; default: the first superuser")

    def handle(self, *, username: str, **_: Any) -> None:
        self.say(login_link(_address(), username))


def _address() -> str:
    running = discovery.read(settings.MEMORY.discovery)
    if running is not None:
        return running.url
    if settings.MEMORY.port == 0:
        raise NotFound("No service runs, and MEMORY_PORT=0 names no address: start it first.")
    return local_url(settings.MEMORY.host, settings.MEMORY.port)
