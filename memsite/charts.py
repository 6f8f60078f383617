"""The geometry of a bar chart; a template draws it. Colours are the stylesheet's, so that they follow the theme."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

WIDTH, HEIGHT = 720, 170
LEFT, RIGHT, TOP, BOTTOM = 36, 20, 10, 22
LINES = 4
LABELLED_EVERY = 5
GAP = 0.3
"""The share of a day's place that stays empty."""
STEPS = (1, 2, 2.5, 5, 10)


@dataclass(frozen=True)
class Day:
    on: date
    counts: tuple[int, ...]
    """A number a series."""

    @property
    def begins(self) -> str:
        return f"{self.on}T00:00:00Z"

    @property
    def ends(self) -> str:
        return f"{self.on + timedelta(days=1)}T00:00:00Z"


@dataclass(frozen=True)
class Bar:
    x: float
    y: float
    width: float
    height: float
    series: int


@dataclass(frozen=True)
class Mark:
    """A line or a label of an axis."""

    at: float
    text: str


@dataclass(frozen=True)
class Chart:
    title: str
    description: str
    names: tuple[str, ...]
    days: tuple[Day, ...]
    bars: tuple[Bar, ...]
    lines: tuple[Mark, ...]
    labels: tuple[Mark, ...]
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    right: int = WIDTH - RIGHT
    base: int = HEIGHT - BOTTOM


def per_day(title: str, names: Sequence[str], days: Sequence[Day]) -> Chart:
    """Grouped bars, a group a day; `names` are those of the series."""
    top = scale(max((count for day in days for count in day.counts), default=0))
    place = (WIDTH - LEFT - RIGHT) / max(1, len(days))
    return Chart(
        title=title,
        description=_described(names, days),
        names=tuple(names),
        days=tuple(days),
        bars=tuple(bar for number, day in enumerate(days) for bar in _bars(day, LEFT + number * place, place, top)),
        lines=tuple(Mark(_y(top * line / LINES, top), f"{top * line // LINES:,}") for line in range(LINES + 1)),
        labels=tuple(
            Mark(round(LEFT + (number + 0.5) * place, 1), f"{day.on:%d %b}")
            for number, day in enumerate(days)
            if (len(days) - 1 - number) % LABELLED_EVERY == 0
        ),
    )


def scale(most: int) -> int:
    """The end of an axis: a round number no less than `most` of which a quarter is whole."""
    power = 1
    while True:
        for step in STEPS:
            top = round(step * power * LINES)
            if top >= most and top % LINES == 0:
                return top
        power *= 10


def _bars(day: Day, x: float, place: float, top: int) -> list[Bar]:
    width = place * (1 - GAP) / max(1, len(day.counts))
    start = x + place * GAP / 2
    base = HEIGHT - BOTTOM
    return [
        Bar(round(start + series * width, 1), _y(count, top), round(width, 1), round(base - _y(count, top), 1), series)
        for series, count in enumerate(day.counts)
        if count
    ]


def _y(count: float, top: int) -> float:
    return round(HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * count / top, 1)


def _described(names: Sequence[str], days: Sequence[Day]) -> str:
    totals = [f"{sum(day.counts[series] for day in days):,} {name}" for series, name in enumerate(names)]
    return f"{' and '.join(totals)} in {len(days)} days; the table below has every day."
