"""Scripts written without spaces: split into overlapping bigrams, so that a word of two characters can be found.

The usual way where no dictionary may be needed; see Nie, Gao, Zhang, Zhou, "On the use of words and n-grams for
Chinese information retrieval" (IRAL 2000).
"""

import re
import unicodedata
from collections.abc import Iterator

UNSPACED = (
    "\u3005\u3007"  # ideographic iteration mark and zero
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"  # Han
    "\u3041-\u3096\u30a1-\u30fa\u30fc\u31f0-\u31ff\uff66-\uff9f"  # kana
    "\u1100-\u11ff\u3131-\u318e\uac00-\ud7af"  # Hangul: spaced, but its particles are glued to the word
    "\u0e00-\u0e7f\u0e80-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
)
_RUN = re.compile(f"[{UNSPACED}]+")
_GLUED = re.compile(f"(?<!\\w)[^\\W{UNSPACED}]*+[{UNSPACED}]\\w*")
"""A word that holds an unspaced run; it begins where a word begins, so that no long word is read twice."""
_PIECE = re.compile(f"[{UNSPACED}]+|[^\\W{UNSPACED}]+")


def unspaced_runs(text: str) -> list[str]:
    return _RUN.findall(unicodedata.normalize("NFC", text))


def without_unspaced(text: str) -> str:
    return _RUN.sub(" ", unicodedata.normalize("NFC", text))


def bigrams(run: str) -> list[str]:
    return [run[at : at + 2] for at in range(len(run) - 1)]


def segments(text: str) -> str:
    """What full-text search needs beside the text: bigrams of every run, and the words that are glued to a run.

    The last character of a run stands alone, so that any single character is the prefix of a token.
    """
    return " ".join(_segments(unicodedata.normalize("NFC", text)))


def _segments(text: str) -> Iterator[str]:
    for glued in _GLUED.findall(text):
        for piece in _PIECE.findall(glued):
            if _RUN.fullmatch(piece):
                yield from bigrams(piece)
                yield piece[-1]
            else:
                yield piece
