"""Generated texts that load an index as prose does: few words in nearly every text, many words in few.

The hundred or so most frequent words are English function words, as in any prose; behind them stand invented
ones. Frequencies follow Zipf's law as Mandelbrot wrote it, p ~ 1 / (rank + 2.7). All follows from the seed.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from baseline import STOP_WORDS, content_words

SEED = 20261130
VOCABULARY = 6000
SHORTEST, LONGEST = 200, 600
LONGEST_WORD = 16
"""With its space and full stop: what a text may fall short of the length drawn for it."""
PROJECTS = tuple(f"bench/project-{number}" for number in range(5))
TEXTS_A_SESSION = 20
_FREQUENT = """
the of and to a in is that it for was on are as with be at this by from or have an which but all we were
there can when more if will so what other about up into than them only some could these then do now such
after most over through where before each between how they their its has had been who no out just our
should any because under while both very here
"""
FUNCTION_WORDS = _FREQUENT.split()


@dataclass(frozen=True)
class Text:
    project: str
    session: str
    content: str


@dataclass(frozen=True)
class Query:
    project: str
    text: str


def invented_words(count: int) -> list[str]:
    """Distinct words, the short ones first as frequent words are."""
    onsets = [*"bcdfghklmnprstvw", "br", "cl", "dr", "fl", "gr", "pl", "pr", "sk", "st", "th", "tr"]
    syllables = ["".join(pair) for pair in product(onsets, "aeiou")]
    endings = ["", "l", "m", "n", "r", "t", "nd", "rk"]
    rng = random.Random(SEED)
    found: dict[str, None] = {}
    while len(found) < count:
        length = 1 if len(found) < 60 else 2 if len(found) < 1500 else 3
        word = "".join(rng.choices(syllables, k=length)) + rng.choice(endings)
        if len(word) > 2 and word not in STOP_WORDS:
            found[word] = None
    return list(found)


def texts(seed: int = SEED) -> Iterator[Text]:
    """An endless stream of distinct texts, dealt out to the projects in turn."""
    seen: set[str] = set()
    for content in _contents(np.random.default_rng(seed)):
        if content not in seen:
            number = len(seen)
            seen.add(content)
            project = PROJECTS[number % len(PROJECTS)]
            yield Text(project, f"session-{number // (len(PROJECTS) * TEXTS_A_SESSION)}", content)


def _contents(rng: np.random.Generator) -> Iterator[str]:
    words = _words(rng)
    while True:
        length = int(rng.integers(SHORTEST + LONGEST_WORD, LONGEST + 1))
        yield _prose(words, int(rng.integers(8, 16)), length)


def _prose(words: Iterator[str], sentence: int, length: int) -> str:
    """Sentences of about `sentence` words, `length` characters at most and hardly less."""
    parts: list[str] = []
    size = 0
    for position, word in enumerate(words):
        size += len(word) + 1
        if size >= length:
            break
        first, last = position % sentence == 0, position % sentence == sentence - 1
        parts.append((word.capitalize() if first else word) + ("." if last else ""))
        size += last
    return " ".join(parts).rstrip(".") + "."


def _words(rng: np.random.Generator) -> Iterator[str]:
    vocabulary = FUNCTION_WORDS + invented_words(VOCABULARY - len(FUNCTION_WORDS))
    weights = 1 / (np.arange(len(vocabulary)) + 1 + 2.7)
    while True:
        for index in rng.choice(len(vocabulary), size=65536, p=weights / weights.sum()):
            yield vocabulary[index]


def queries(stored: Sequence[Text], count: int, seed: int = SEED) -> list[Query]:
    """Different queries of 3-8 telling words, each from one stored text and asked in its project."""
    rng = random.Random(seed)
    found: dict[Query, None] = {}
    while len(found) < count:
        text = rng.choice(stored)
        known = content_words(text.content)
        chosen = rng.sample(known, min(len(known), rng.randint(3, 8)))
        found[Query(text.project, " ".join(chosen))] = None
    return list(found)
