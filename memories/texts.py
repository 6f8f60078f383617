"""How much of a text is shown where, and how numbers and times are written."""

from datetime import datetime

from django.utils.html import format_html
from django.utils.safestring import SafeString

OPENING = 120
SLICE = 4 * OPENING + 1
"""Characters to read for an opening: white space may go."""
LONGEST_SHOWN = 20_000


def counted(memories: int) -> str:
    return "1 memory" if memories == 1 else f"{memories:,} memories"


def moment(at: datetime | None) -> SafeString | str:
    """A date and its time, which stay whole where a narrow column parts them."""
    if at is None:
        return "-"
    day, time = f"{at:%Y-%m-%d}", f"{at:%H:%M}"
    return format_html('<span class="moment"><span>{}</span> <span>{}</span></span>', day, time)


def opening(text: str) -> str:
    """The beginning of a text on one line."""
    line = " ".join(text[:SLICE].split())
    cut = len(line) > OPENING or len(text) >= SLICE
    return line[: OPENING - 1].rstrip() + "…" if cut else line
