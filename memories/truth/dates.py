"""When a text was written, where its start or end says so: "(1:56 pm on 8 May, 2023)", "[2026-11-30 10:00]"."""

import functools
import re

KEPT = 256
_BRACKETED = r"[(\[]([^()\[\]]{8,60})[)\]]"
_ENDS = re.compile(rf"\A\s*{_BRACKETED}|{_BRACKETED}\s*\Z")
_MONTH = r"\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)"
_DATE = re.compile(rf"\d{{4}}-\d\d-\d\d|{_MONTH}.*\d{{4}}")
_LETTERS = re.compile(r"[^\W\d_]+")
_OF_DATES = """
january february march april may june july august september october november december jan feb mar apr jun jul aug sep
sept oct nov dec monday tuesday wednesday thursday friday saturday sunday mon tue wed thu fri sat sun am pm a p m on at
of t z utc gmt st nd rd th
"""
_WORDS = frozenset(_OF_DATES.split())


@functools.lru_cache(KEPT)
def undated(text: str) -> str:
    """A text without the dates in brackets that it starts or ends with."""
    return _ENDS.sub(lambda found: "" if _is_date((found[1] or found[2]).lower()) else found[0], text)


def _is_date(text: str) -> bool:
    return bool(_DATE.search(text)) and _WORDS.issuperset(_LETTERS.findall(text))
