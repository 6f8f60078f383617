"""What a person asks to be remembered in a prompt, in English and Chinese. Standard library only."""

import re
from collections.abc import Iterator

from memories.stated import own_words, sentences

_POLITE = (
    r"(?:(?:please|pls|also|and|ok(?:ay)?|so|hey|hi|btw|by the way|well|yes|no|important|now|then)[,:!]?[ ]+"
    r"|(?:can|could|would|will) you (?:please )?|i(?:['’]d like| want| need) you to |you (?:should|must|need to) "
    r"|(?:请|請|麻烦|麻煩|帮我|幫我|你要|你|一定要?|务必|務必|另外|还有|還有|也|要)[，,]?)"
)
_VERBS = (
    r"(?:remember\b|(?:do not|don['’]?t|never) (?:ever )?forget\b|(?:keep|bear) in mind\b"
    r"|(?:make|take) (?:a )?note\b|note (?=for (?:later|next time|the future)\b)|memori[sz]e\b"
    r"|(?:save|store|add|put) (?:this|that|it )?(?: ?(?:to|in|into) (?:your |the )?memory)\b|for future reference\b"
    r"|note\b(?= that [^\n]{3,400}? for (?:later|next time|the future|future reference)\b)"
    "|记住|记得|记一下|记下来?|记着|别忘了?|不要忘(?:记|了)|記住|記得|記一下|記下來?|別忘了?|不要忘(?:記|了))"
)
_LINK = (
    r"(?:[ ]?for (?:later|next time|the future|future reference))?(?:[ ]?(?:that|of|this|these|the following))?"
    r"(?:一下|以下|这点|這點|这个|這個)?[ ]*(?P<mark>[:：]|[,，]|[ ][-–—])?\s*"
)
_REQUEST = re.compile(
    rf"(?:^[ \t]*(?:[-*•]\s+)?|(?<=[.!?;])[ ]+|(?<=[。！？；])){_POLITE}{{0,4}}{_VERBS}{_LINK}",
    re.IGNORECASE | re.MULTILINE,
)
_FOR_LATER = re.compile(r"[ ]*\bfor (?:later|next time|the future|future reference)\b", re.IGNORECASE)
_NOTHING = re.compile(
    r"(?:when|how|what|why|if|where|who|which|me|it|them|us|last|the time|our (?:last|previous|chat|conversation))\b"
    r"|[了过過]?[吗嗎么麼]|上次|之前",
    re.IGNORECASE,
)
_GOES_ON = re.compile(
    r"(?:it|its|they|their|this|that|these|those|he|she|also|and|but|because|otherwise|the reason|which)\b"
    "|[他她它]|[这那這]|也|而且|但|因为|因為|否则|否則|所以|原因",
    re.IGNORECASE,
)
_QUESTION = re.compile(r"[?？]\s*$|[吗嗎][。.]?$")
_BLANK_LINE = re.compile(r"\n\s*\n")
_WORDS = re.compile(r"[^\W\d_]+|\d+")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")


def asked_to_keep(prompt: str) -> list[str]:
    """The texts that a prompt asks to remember."""
    return list(dict.fromkeys(_requests(own_words(prompt))))


def _requests(text: str) -> Iterator[str]:
    end = 0
    for request in _REQUEST.finditer(text):
        if request.start() < end:
            continue
        rest = _BLANK_LINE.split(text[request.end() :], maxsplit=1)[0].strip()
        kept = rest if request["mark"] in (":", "：") else _sentences_of(rest)
        kept = _FOR_LATER.sub("", kept).strip()
        polite_question = "you" in request[0].lower().split()
        if _NOTHING.match(kept) or not _says_something(kept) or (_QUESTION.search(kept) and not polite_question):
            continue
        end = request.end() + len(kept)
        kept = kept.rstrip("?？ ") if polite_question else kept
        yield f"Remember {kept}" if kept.lower().startswith("to ") else kept


def _sentences_of(rest: str) -> str:
    """The first sentence, and those that lean on it."""
    found = sentences(rest)
    end = 1
    while end < len(found) and _GOES_ON.match(found[end]):
        end += 1
    return " ".join(found[:end])


def _says_something(text: str) -> bool:
    return len(_WORDS.findall(text)) >= 2 or len(_UNSPACED.findall(text)) >= 3
