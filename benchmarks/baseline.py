"""What plain SQLite gives: one FTS5 table, stop words out, the rest joined by OR, ordered by bm25."""

import re
import sqlite3
from collections.abc import Iterable

_ENGLISH = """
a about above after again against all am an and any are as at be because been before being below between
both but by can could did do does doing down during each few for from further had has have having he her
here hers herself him himself his how i if in into is it its itself just me more most my myself no nor
not now of off on once only or other our ours ourselves out over own same she should so some such than
that the their theirs them themselves then there these they this those through to too under until up very
was we were what when where which while who whom why will with would you your yours yourself yourselves s
t d ll m re ve don didn doesn isn wasn aren won shouldn couldn wouldn hasn haven hadn
"""
STOP_WORDS = frozenset(_ENGLISH.split())


def words(text: str) -> list[str]:
    """Lower-case words in order, each once."""
    return list(dict.fromkeys(re.findall(r"\w+", text.lower().replace("_", " "))))


def content_words(text: str) -> list[str]:
    return [word for word in words(text) if word not in STOP_WORDS]


def or_query(terms: Iterable[str]) -> str:
    """An FTS5 query in which every term is quoted."""
    return " OR ".join('"' + term.replace('"', '""') + '"' for term in terms)


class Baseline:
    """The FTS5 search that everyone can write in ten lines."""

    def __init__(self) -> None:
        self._database = sqlite3.connect(":memory:")
        self._database.execute(
            "CREATE VIRTUAL TABLE note USING fts5"
            "(content, id UNINDEXED, project UNINDEXED, tokenize='porter unicode61')"
        )

    def close(self) -> None:
        self._database.close()

    def add(self, identifier: str, project: str, content: str) -> None:
        self._database.execute("INSERT INTO note VALUES (?, ?, ?)", (content, identifier, project))

    def search(self, query: str, project: str, limit: int) -> list[str]:
        """Identifiers, best first; `*` is every project."""
        terms = content_words(query)
        if not terms:
            return []
        rows = self._database.execute(
            "SELECT id FROM note WHERE note MATCH ? AND (? = '*' OR project = ?) ORDER BY bm25(note) LIMIT ?",
            (or_query(terms), project, project, limit),
        )
        return [identifier for (identifier,) in rows]
