"""Which process listens on a port, as far as this user may know it."""

import contextlib
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

PROC = Path("/proc")
LISTENING = "0A"


def holder(port: int) -> str:
    """`pid 12, nginx`; empty if it cannot be found out."""
    pid = next(_pids(port), 0) if (PROC / "net/tcp").exists() else _by_lsof(port)
    if not pid:
        return ""
    with contextlib.suppress(OSError):
        return f"pid {pid}, {(PROC / str(pid) / 'comm').read_text().strip()}"
    return f"pid {pid}"


def _pids(port: int) -> Iterator[int]:
    sockets = {f"socket:[{inode}]" for inode in _inodes(port)}
    for link in PROC.glob("[0-9]*/fd/*") if sockets else ():
        with contextlib.suppress(OSError):  # it ended, or is somebody else's
            if str(link.readlink()) in sockets:
                yield int(link.parts[2])


def _inodes(port: int) -> Iterator[str]:
    for table in ("tcp", "tcp6"):
        with contextlib.suppress(OSError):
            for line in (PROC / "net" / table).read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == LISTENING and int(fields[1].rpartition(":")[2], 16) == port:
                    yield fields[9]


def _by_lsof(port: int) -> int:
    program = shutil.which("lsof")
    if program is None:
        return 0
    with contextlib.suppress(OSError, ValueError, IndexError, subprocess.TimeoutExpired):
        asked = [program, "-nP", "-t", f"-iTCP:{port}", "-sTCP:LISTEN"]
        return int(subprocess.run(asked, capture_output=True, timeout=5, check=False).stdout.split()[0])  # noqa: S603
    return 0
