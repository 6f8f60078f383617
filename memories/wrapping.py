"""What may be shown to a model: stored text that can neither end nor forge a tag of ours or of a harness.

Standard library only.
"""

import html
import re
import unicodedata
from typing import Literal

# Distinctive names are refused as the beginning of a tag, words only as a whole: `<UserList>` stays.
_NAMES = re.findall(
    r"\S+",
    """
    semantic-memory system-reminder system_reminder hook_context hook-context antml: tool_result tool_use
    tool_call tool-result tool-use function_call function_result function-call additional_context
    additional-context additionalcontext environment_context environment-context user_instructions
    user-instructions user_info system_prompt system-prompt command-name command-message command-args
    local-command- persisted-output
    """,
)
_WORDS = re.findall(r"\S+", "system user assistant human tool tools instructions context invoke parameter thinking sys")
_SPECIAL = r"\|[a-z_▁]"  # <|im_start|>

# Characters that a reader does not see (Default_Ignorable_Code_Point) and control characters.
_UNSEEN = (
    "\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_UNSEEN_RUN = re.compile(f"[{_UNSEEN}]+")
_SKIPPED = re.compile(rf"[\s/{_UNSEEN}]+")

# `<` and its look-alikes, raw or as an entity that was escaped any number of times.
_AMP = r"&(?:(?:amp|\#0*38|\#x0*26);?)*"
_LT = re.compile(rf"[<＜﹤]|{_AMP}(?:lt|\#0*60|\#x0*3c);?", re.IGNORECASE)
# An entity that the text after this one could complete to a `<` or to an unseen character.
_HALF_ENTITY = re.compile(r"&(?=(?:(?:amp|\#0*38|\#x0*26);?)*(?:am?|l|\#x?[0-9a-f]*)?\Z)", re.IGNORECASE)
_OPEN_ENTITY = re.compile(r"&\w{0,32}\Z")


def _loosely(name: str) -> str:
    return r"\s*".join(map(re.escape, name))


_PROTECTED = rf"[\s/]*(?:{'|'.join(map(_loosely, _NAMES))}|(?:{'|'.join(map(_loosely, _WORDS))})(?![\w-])|{_SPECIAL})"
_PROTECTED_NAME = re.compile(_PROTECTED)
_PROTECTED_TAG = re.compile(f"<{_PROTECTED}")
_BEGINNINGS = frozenset(name[:size] for name in (*_NAMES, *_WORDS, "|") for size in range(len(name) + 1))
# What may follow a `<` that matters; everything else is left alone without a closer look.
_FIRST = "".join(sorted({name[0] for name in (*_NAMES, *_WORDS, "|")}))
_SUSPECT = re.compile(rf"(?:{_LT.pattern})(?=[\s/{_UNSEEN}]*+(?:[{_FIRST}&]|[^\x00-\x7f]|\Z))", re.IGNORECASE)
_WINDOW = 160

_LINE_BREAKS = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029]")
_BLANK_LINES = re.compile(rf"\n(?:(?:[^\S\n]|[{_UNSEEN}])*+\n)++")
_FENCE = re.compile(r"`{3,}|(?m:^(?P<indent>[^\S\n]*+)~{3,})")
_INST = re.compile(r"\[(?=\s{0,9}/?\s{0,9}(?:INST\s{0,9}\]|(?:I(?:N(?:ST?)?)?)?\Z))", re.IGNORECASE)


# Longer runs of combining marks are cut by a joiner before normalisation, which sorts them in quadratic time
# (the "stream-safe text format" of UAX 15).
_MARKS = 30
_MANY_MARKS = re.compile(rf"[^\w\s\x00-\x7f]{{{_MARKS + 1},}}")


def defang(text: str) -> str:
    """The text as it may stand in a block, also beside other such text. Defanging again changes nothing."""
    text = _FENCE.sub(lambda match: (match["indent"] or "") + "'''", _lines(text))
    text = _INST.sub("(", text)
    text = _HALF_ENTITY.sub("＆", text)
    text = _SUSPECT.sub(_closed, text)
    return _blunt(text) if _still_forges(text) else text


def unicode_form(text: str, *, form: Literal["NFC", "NFKC"]) -> str:
    """Unicode normalisation in linear time, also of hostile text."""
    return text if text.isascii() else unicodedata.normalize(form, _MANY_MARKS.sub(_cut_marks, text))


def _cut_marks(match: re.Match[str]) -> str:
    out, marks = [], 0
    for character in match[0]:
        marks = marks + 1 if unicodedata.combining(character) else 0
        if marks > _MARKS:
            out.append("\u034f")
            marks = 1
        out.append(character)
    return "".join(out)


def _lines(text: str) -> str:
    return _BLANK_LINES.sub("\n", _LINE_BREAKS.sub("\n", text).strip())


def _closed(match: re.Match[str]) -> str:
    text, start = match.string, match.end()
    following = _LT.search(text, start, start + _WINDOW)
    end = following.start() if following else start + _WINDOW
    return "‹" if _forges(text[start:end], nested=following is not None) else match[0]


def _forges(following: str, *, nested: bool) -> bool:
    """Whether a `<` before this text begins a protected tag, or may begin one with what comes after.

    `nested`: what comes after is another `<`, else it is unknown (the end of the text, or a long gap).
    """
    view = seen_form(following)
    if _PROTECTED_NAME.match(view):
        return True
    name = _SKIPPED.sub("", _OPEN_ENTITY.sub("", view))
    return name in _BEGINNINGS and (not nested or len(name) > 3)


def seen_form(text: str) -> str:
    """The text as a careless reader sees it: entities resolved, compatibility forms and case folded."""
    if "&" in text:
        text = html.unescape(html.unescape(text))
    return _UNSEEN_RUN.sub("", unicode_form(text, form="NFKC")).casefold()


def _still_forges(text: str) -> bool:
    """A second look at the whole, for what the first misses: entities that spell an entity, long gaps."""
    view = seen_form(text)
    if "<" not in view:
        return False
    return bool(_PROTECTED_TAG.search(view)) or _forges(view[view.rindex("<") + 1 :][:_WINDOW], nested=False)


def _blunt(text: str) -> str:
    return _LT.sub("‹", text).replace("&", "＆")
