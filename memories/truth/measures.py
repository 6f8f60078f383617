"""Numbers with their units: "30 days", "thirty days", "30 s", "15 %"."""

import functools
import re

from memories.search.stopwords import STOPWORDS
from memories.truth.likeness import KEPT, stem

_COUNTED = ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_SPELT = (
    {word: str(number) for number, word in enumerate(_COUNTED, 2)}
    | {word: str(number * 10) for number, word in enumerate(_TENS, 2)}
    | {"fifteen": "15"}
)
_SAME_UNIT = {"s": "s sec second seconds", "min": "minute minutes", "h": "hour stunde stunden", "day": "tag tage tagen"}
_UNITS = {stem(word): unit for unit, words in _SAME_UNIT.items() for word in words.split()}
_MEASURE = re.compile(rf"(?<![\w.,])(?:(\d++(?:[.,]\d++)*+)[ \u00a0-]?|({'|'.join(_SPELT)})[ -])([^\W\d_]+|%)")

type Measures = dict[str, frozenset[str]]
"""The numbers of each unit."""


@functools.lru_cache(KEPT)
def measures(text: str) -> Measures:
    found: Measures = {}
    for digits, spelt, word in _MEASURE.findall(text.lower()):
        unit = stem(word)
        if unit in _UNITS or unit not in STOPWORDS:
            unit = _UNITS.get(unit, unit)
            found[unit] = found.get(unit, frozenset()) | {digits or _SPELT[spelt]}
    return found


def is_of_a_measure(word: str) -> bool:
    return word in _SPELT or word in _UNITS or any(character.isdigit() for character in word)
