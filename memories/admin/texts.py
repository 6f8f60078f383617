"""How much of a text is shown where."""

OPENING = 120
SLICE = 4 * OPENING + 1
"""Characters to read for an opening: white space may go."""
LONGEST_SHOWN = 20_000


def opening(text: str) -> str:
    """The beginning of a text on one line."""
    line = " ".join(text[:SLICE].split())
    cut = len(line) > OPENING or len(text) >= SLICE
    return line[: OPENING - 1].rstrip() + "…" if cut else line
