"""From a prompt to the terms that are looked for. Everything is quoted, so the syntax of a search engine is inert."""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from memories.search.scripts import bigrams, unspaced_runs, without_unspaced
from memories.search.stopwords import DECISIVE, STOP_CHARACTERS, STOP_SEGMENTS, STOPWORDS

MAX_CHARACTERS = 20_000
"""Longer prompts are read from both ends: the task stands first or last, pasted material between."""
MOST_PARTS = 16
"""Words of a compound: a phrase costs its length times that of every text which repeats its words."""
_WORD = re.compile(r"[^\W_]+")
_COMPOUND = re.compile(r"(?<![^\W_])[^\W_]++(?:[-_./:@#+\\]++[^\W_]++)+")
_HIRAGANA = re.compile(r"[\u3041-\u3096]+")
# Words, and the marks that decide what a text says: C++ and C#, < and >, a sign before a number, ✅ and ❌.
_MEANING = re.compile(r"[^\W_]+|(?<=\w)#|(?<![\w.])[-\u2212](?=\.?\d)|[^\w\s#-]")


@dataclass(frozen=True)
class Term:
    """One thing to look for. A compound (`src/app/models.py`) is looked for as a whole beside its words."""

    text: str
    is_compound: bool = False
    is_prefix: bool = False

    @property
    def match(self) -> str:
        """A quoted FTS5 string: https://sqlite.org/fts5.html#fts5_strings."""
        return quoted(self.text) + ("*" if self.is_prefix else "")


def quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def any_of(terms: list[Term]) -> str:
    return " OR ".join(term.match for term in terms)


def query_terms(query: str, *, keep_stopwords: bool = False) -> list[Term]:
    """The distinct terms of a query in order; stop words only when asked for and nothing else is there."""
    query = _shortened(query)
    terms = list(dict.fromkeys((*_compounds(query), *_words(query, STOPWORDS), *_from_unspaced(query))))
    if not terms and keep_stopwords:
        terms = list(dict.fromkeys((*_words(query, frozenset(), shortest=1), *_characters(query))))
    return terms


def content_words(text: str) -> tuple[str, ...]:
    """The words of a text that carry its meaning, in order: what turns a sentence into its opposite included."""
    found = (piece.casefold() for piece in _MEANING.findall(text.replace("'", "").replace("’", "")))
    return tuple(piece for piece in found if _says_something(piece))


def _says_something(piece: str) -> bool:
    if len(piece) > 1 or piece.isalnum():
        return piece in DECISIVE or piece not in STOPWORDS
    return piece in "#-" or unicodedata.category(piece) in ("Sm", "Sc", "So")


def _shortened(query: str) -> str:
    half = MAX_CHARACTERS // 2
    return query if len(query) <= MAX_CHARACTERS else f"{query[:half]} {query[-half:]}"


def _compounds(query: str) -> Iterator[Term]:
    for found in _COMPOUND.findall(without_unspaced(query)):
        if len(_WORD.findall(found)) <= MOST_PARTS:
            yield Term(found.lower(), is_compound=True)


def _words(query: str, stopwords: frozenset[str], *, shortest: int = 2) -> Iterator[Term]:
    for found in _WORD.findall(without_unspaced(query)):
        word = found.lower()  # casefold() would make of ß what no index holds
        if word not in stopwords and (len(word) >= shortest or word.isdigit()):
            yield Term(word)


def _from_unspaced(query: str) -> Iterator[Term]:
    for run in unspaced_runs(query):
        if len(run) == 1 and run not in STOP_CHARACTERS:
            yield Term(run, is_prefix=True)
        for pair in bigrams(run):
            if not _says_nothing(pair):
                yield Term(pair)


def _characters(query: str) -> Iterator[Term]:
    for run in unspaced_runs(query):
        for character in run:
            yield Term(character, is_prefix=True)


def _says_nothing(pair: str) -> bool:
    return (
        pair in STOP_SEGMENTS
        or any(character in STOP_CHARACTERS for character in pair)
        or bool(_HIRAGANA.fullmatch(pair))
    )
