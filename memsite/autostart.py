"""One service is started by hooks and plugins, however many of them begin at once.

hook.py takes the lock, and what it starts inherits it. A plugin cannot: what it starts takes it here.
"""

import os
from pathlib import Path

STARTED = "MEMORY_HOOK_ACTIVE"
INHERITED = "MEMORY_START_LOCK"
"""The descriptor by which hook.py hands the lock down."""


def is_wanted(discovery: Path | None) -> bool:
    """False for a service that an agent program started while another such one lives.

    Otherwise a service that an agent program started keeps the lock until it ends.
    """
    if STARTED not in os.environ or INHERITED in os.environ or discovery is None:
        return True
    import fcntl  # noqa: PLC0415 - not on every system; filelock would empty the file, in which hook.py keeps a date

    lock = os.open(f"{str(discovery).removesuffix('.server.json')}.start.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        return False
    return True
