"""Decisions and preferences that a sentence states by its own words, in English and Chinese. Standard library only."""

import re
from collections.abc import Iterator
from typing import NamedTuple

SHORTEST, LONGEST = 8, 400
MOST_READ = 10_000
"""Characters of either end: between them stands what was pasted."""
_SENTENCE_END = re.compile(r"(?<=[。！？])|(?<=[.!?])\s+(?![a-z])|\n+")
_QUOTED = re.compile(
    r"^(?P<fence>```|~~~).*?(?:^(?P=fence)[^\n]*$|\Z)|^[ \t]*>[^\n]*$|^(?: {4}|\t)[^\n]*$", re.DOTALL | re.MULTILINE
)

_WHO = r"(?:we|the team|i)(?:['’](?:ve|ll|re|m|d))?(?: have| will| are| am| would)?(?: now| finally| just| all)?"
_DECISION = re.compile(
    rf"\b{_WHO} (?:decided|agreed|chose|settled on|standardi[sz]ed on|going (?:with|to use)|go with"
    r"|use .{{1,60}} instead of|switched|switching|migrated|moved) \S"
    r"|\blet['’]?s (?:go with|stick (?:with|to)|standardi[sz]e on|use) \S"
    r"|\b(?:from now on|going forward|as of (?:now|today))\b"
    r"|\bthe (?:decision|rule|convention|policy) is\b|\bour (?:rule|convention|policy|standard) is\b"
    "|(?:我们|咱们|团队|我們|團隊)(?:已经|已|最终|一致|已經|最終)?(?:决定|决定了|选择|采用|改用|约定|商定|決定|選擇|採用|約定)"
    "|^决定(?:使?用|采用|改用|了)|(?:从现在|從現在)(?:起|开始|開始)|从今(?:以后|往后)|今后(?:都|统一|一律|不)|統一使?用|统一使?用|一律使?用",
    re.IGNORECASE,
)
_PREFERENCE = re.compile(
    r"\bi(?:['’]d| would| strongly| really| always| generally)? (?:prefer|rather (?:use|have))\b"
    r"|\bi (?:(?:really|do) )?(?:hate|dislike|don['’]?t like|like|love) (?:it when|to|when|using|\w+ing|\w+ better)\b"
    r"|\bi (?:always|never) (?:use|want|write|run|commit|put|work)\b|\bmy (?:preference|preferred|favou?rite)\b"
    r"|^(?:please )?(?:always|never) (?!mind\b)[a-z]+ \S"
    "|我(?:更|比较|不|最|一直|很|比較)?(?:喜欢|偏好|习惯|讨厌|希望你(?:总是|一直|以后|不要)|喜歡|習慣|討厭)"
    "|以后(?:都|请|要|不要|别|一律|每次)|以後(?:都|請|要|不要|別)|^(?:请)?(?:永远|总是|始终)(?:不要|别|要|用|使用)|不要再",
    re.IGNORECASE,
)
_OPEN = re.compile(
    r"[?？]\s*$|[吗嗎呢](?:[。.!]?)$"
    r"|^(?:if|when|whether|should|shall|do|does|did|can|could|would|what|why|how|suppose|imagine|maybe|perhaps)\b"
    "|^(?:如果|假如|要是|是否|为什么|怎么|為什麼)",
    re.IGNORECASE,
)


class Statement(NamedTuple):
    """`kind` is decision or preference."""

    kind: str
    text: str


def own_words(text: str) -> str:
    """A prompt without what is quoted in it: code and pasted text say what others stated. Of a long one both ends."""
    if len(text) > 2 * MOST_READ:
        text = f"{text[:MOST_READ]}\n\n{text[-MOST_READ:]}"
    return _QUOTED.sub("", text)


def sentences(text: str) -> list[str]:
    return [piece for part in _SENTENCE_END.split(text) if (piece := part.strip(" \t-*•"))]


def kind_of(sentence: str) -> str | None:
    """What a sentence states; None for a question, a condition, or no evidence."""
    if _OPEN.search(sentence):
        return None
    if _DECISION.search(sentence):
        return "decision"
    return "preference" if _PREFERENCE.search(sentence) else None


def stated(text: str) -> Iterator[Statement]:
    """The decisions and preferences of a prompt, a sentence each."""
    for sentence in sentences(own_words(text)):
        kind = kind_of(sentence) if len(sentence.encode()) >= SHORTEST and len(sentence) <= LONGEST else None
        if kind:
            yield Statement(kind, sentence)
