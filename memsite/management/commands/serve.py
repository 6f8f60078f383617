from argparse import ArgumentParser, ArgumentTypeError
from typing import Any

from django.core.management.base import BaseCommand


def _number(least: int, most: int, text: str) -> int:
    if not text.isdecimal() or not least <= int(text) <= most:
        raise ArgumentTypeError(f"{text!r} is not a number from {least} to {most}")
    return int(text)


class Command(BaseCommand):
    help = "Run the memory service (what memory-mcp does without a command; `memory-mcp help` lists the others)."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", help="address to listen on, instead of MEMORY_HOST")
        parser.add_argument(
            "--port",
            type=lambda text: _number(0, 65535, text),
            help="instead of MEMORY_PORT; 0 = any free one",
        )
        parser.add_argument(
            "--workers",
            type=lambda text: _number(1, 64, text),
            default=1,
            help="processes; 1 is quickest to stop",
        )

    def handle(self, *, host: str | None, port: int | None, workers: int, **_: Any) -> None:
        from memsite.serve import serve  # noqa: PLC0415 - uvicorn, only where something is served

        serve(host=host, port=port, workers=workers)
