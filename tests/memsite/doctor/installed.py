"""An installation with hooks of a test's own, and what doctor says of it."""

import sys
from collections.abc import Callable
from pathlib import Path

SOUND_HOOK = "import sys, json; json.load(sys.stdin)"


class Installed:
    """An installation with a hook.py of the test's own."""

    def __init__(self, folder: Path, moved: Callable[[str], None]) -> None:
        self.hook = folder / "lib/memsite/hook.py"
        self.hook.parent.mkdir(parents=True)
        (folder / "lib/memsite/opencode_plugin").mkdir()
        (folder / "bin").mkdir()
        (folder / "bin/python").symlink_to(sys.executable)
        (folder / "bin/memory-mcp").touch()
        self.hook.write_text(SOUND_HOOK)
        moved(str(folder))


def line(said: str, *words: str) -> str:
    """The one line that holds all words."""
    found = [one for one in said.splitlines() if all(word in one for word in words)]
    assert len(found) == 1, said
    return found[0]
