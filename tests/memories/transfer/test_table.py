"""A table for people."""

from collections.abc import Callable

import pytest

from memories.errors import Rejected
from memories.models import Memory
from memories.transfer.exporting import Extent, export
from tests.memories.transfer.conftest import brought

pytestmark = pytest.mark.django_db
type Remembered = Callable[..., Memory]


def test_a_table_holds_no_formula(remembered: Remembered) -> None:
    import csv

    for text in ("=1+1", "+1", "-1", "@SUM(A1)", "＝1", 'plain, "quoted"\nand =more'):
        remembered(text, tags=["=cmd|' /C calc'!A0", "plain"], session="@x")
    table = list(csv.DictReader(export(Extent(), format="csv")))
    assert len(table) == 6
    for one in table:
        assert not any(cell.startswith(("=", "+", "-", "@", "\t", "\r", "＝")) for cell in one.values())
    assert [one["content"] for one in table] == [
        "'=1+1",
        "'+1",
        "'-1",
        "'@SUM(A1)",
        "'＝1",
        'plain, "quoted"\nand =more',
    ]
    assert table[0]["tags"].startswith("'=cmd")


def test_an_unknown_format_is_refused(db: None) -> None:
    with pytest.raises(Rejected):
        export(Extent(), format="xml")
    with pytest.raises(Rejected):
        brought("x", format="xml")
