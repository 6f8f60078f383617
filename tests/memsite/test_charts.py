"""The geometry of the plot."""

from datetime import date, timedelta

import pytest

from memsite import charts
from memsite.charts import Day

FIRST = date(2026, 3, 1)


def days(*counts: tuple[int, ...]) -> list[Day]:
    return [Day(FIRST + timedelta(days=number), each) for number, each in enumerate(counts)]


@pytest.mark.parametrize(("most", "top"), [(0, 4), (3, 4), (4, 4), (5, 8), (17, 20), (81, 100), (399, 400), (401, 800)])
def test_the_axis_ends_at_a_round_number_of_whole_quarters(most: int, top: int):
    assert charts.scale(most) == top


def test_bars_stand_on_the_base_and_are_as_high_as_their_numbers():
    chart = charts.per_day("Title", ("stored", "injected"), days((4, 2), (0, 1)))
    stored, injected, later = chart.bars
    assert stored.height == pytest.approx(2 * injected.height, abs=0.2)
    assert injected.height == pytest.approx(2 * later.height, abs=0.2)
    for bar in chart.bars:
        assert bar.y + bar.height == pytest.approx(chart.base, abs=0.2)
        assert chart.left <= bar.x
        assert bar.x + bar.width <= chart.right
    assert (stored.series, injected.series, later.series) == (0, 1, 1)


def test_no_number_at_all_makes_an_empty_plot():
    chart = charts.per_day("Title", ("stored",), days((0,), (0,)))
    assert chart.bars == ()
    assert "0 stored in 2 days" in chart.description


def test_the_last_day_is_labelled():
    chart = charts.per_day("Title", ("stored",), days(*[(1,)] * 30))
    assert chart.labels[-1].text == "30 Mar"
