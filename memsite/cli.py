"""The `memory-mcp` command, which is also manage.py."""

import contextlib
import io
import os
import sys
from collections.abc import Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, NoReturn

from memsite import discovery
from memsite.env import BadConfiguration, Env, read_env
from memsite.files import create_private

WITHOUT_DATABASE = frozenset({"serve", "help", "install", "uninstall", "doctor"})
"""Commands that make their own, or none: what is only looked at or shown must not appear by that."""

if TYPE_CHECKING:
    from mcpbridge.proxy import Live
    from mcpbridge.stdio import Wire


def main(argv: Sequence[str] | None = None) -> None:
    """Run a command with arguments (without the program's name). No argument, or only options: serve."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments == ["--version"]:
        sys.stdout.write(f"{version('memsite')}\n")
        return
    try:
        if arguments == ["--stdio"]:
            speak()
        if not arguments or arguments[0].startswith("-"):
            arguments.insert(0, "serve")
        _run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        # The interpreter flushes once more when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)


def speak() -> NoReturn:
    """MCP on standard input and output: through the live service of the same database, or alone."""
    from mcpbridge import stdio  # noqa: PLC0415 - for this command only

    wire = stdio.claim()
    try:
        env = read_env()
        stdio.run(wire, lambda: _live(env), _serve_alone)
    except BadConfiguration as error:
        _leave(str(error), 2)


def _live(env: Env) -> "Live | None":
    from mcpbridge.proxy import Live  # noqa: PLC0415

    service = discovery.read(env.discovery)
    if service is None or discovery.health(service.url) is None:
        return None
    return Live(service.mcp_url, os.environ.get("MEMORY_PLUGIN_TOKEN") or env.token or service.token)


def _serve_alone(wire: "Wire") -> None:
    from mcpbridge import alone  # noqa: PLC0415 - not where a service answers

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memsite.settings")
    os.umask(0o077)  # what SQLite makes is for the owner alone
    alone.serve(wire, version=version("memsite"), set_up=_set_up)


def _set_up() -> None:
    import django  # noqa: PLC0415 - a client is greeted before

    from mcpbridge import stdio  # noqa: PLC0415
    from memories.errors import MemoriesError  # noqa: PLC0415

    django.setup()
    from django.db import connections  # noqa: PLC0415

    from memsite.store import prepare_store  # noqa: PLC0415 - after the set-up

    try:
        prepare_store()
    except MemoriesError as error:
        _say(str(error))
        stdio.leave(1)
    connections.close_all()


def _run(arguments: list[str]) -> None:
    from django.core.management import execute_from_command_line  # noqa: PLC0415 - --version needs no Django
    from django.db import DatabaseError  # noqa: PLC0415

    from memories.errors import MemoriesError, from_database  # noqa: PLC0415

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memsite.settings")
    try:
        if arguments[0] not in WITHOUT_DATABASE and not {"--help", "-h"} & set(arguments):
            _make_room()
        execute_from_command_line(["memory-mcp", *arguments])
    except BadConfiguration as error:
        _leave(str(error), 2)
    except MemoriesError as error:
        _leave(str(error), 1)
    except DatabaseError as error:
        _leave(str(from_database(error)), 1)
    except UnicodeEncodeError:
        _leave("An argument is no text in UTF-8.", 1)
    except BrokenPipeError:
        raise
    except OSError as error:
        _leave(f"{error.filename or 'A file'}: {error.strerror or error}.", 1)


def _make_room() -> None:
    """Django opens the database for as little as a check of the models; so its file is made first, for its owner."""
    from django.conf import settings  # noqa: PLC0415

    with contextlib.suppress(OSError):  # what is wrong with the place is said by the command that needs it
        if not settings.MEMORY.database.exists():
            create_private(settings.MEMORY.database)


def _leave(sentence: str, code: int) -> NoReturn:
    _say(sentence)
    sys.exit(code)


def _say(sentence: str) -> None:
    sys.stderr.write(f"memory-mcp: {sentence}\n")


if __name__ == "__main__":
    main()
