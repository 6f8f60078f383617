"""What may be stored: no control characters, no blocks that we injected ourselves, no planted orders.

Standard library only. What may be shown to a model is in `wrapping.py`.
"""

import hashlib
import re
from collections.abc import Iterable

from memories.wrapping import seen_form, unicode_form

_ANSI = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)")
_LINE_ENDS = re.compile(r"\r\n?|[\x0b\x0c\x85]")
_SURROGATES = re.compile("[\ud800-\udfff]")
# Control characters, and invisible ones that reorder or hide text: bidirectional overrides and isolates, byte
# order mark. Joiners (U+200C, U+200D) stay: Persian and emoji need them.
_REMOVED = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufeff]")
_TAG = 0xE0000
_TAGS = re.compile("[\U000e0020-\U000e007e]")
"""ASCII that no person sees and a model may read."""
_UNSEEN_TEXT = re.compile("(\U0001f3f4[\U000e0020-\U000e007f]{1,8})|[\U000e0000-\U000e007f]+")
"""Tags but those of a flag, such as that of Scotland."""
_MARKS = re.compile("[*_`~]+")
"""Of Markdown."""

_AMP = r"&(?:amp;){0,3}"
_LT = rf"(?:<|{_AMP}(?:lt|\#0{{0,6}}60|\#x0{{0,6}}3c);|\\{{1,4}}u003c)"
_GT = rf"(?:>|{_AMP}(?:gt|\#0{{0,6}}62|\#x0{{0,6}}3e);|\\{{1,4}}u003e)"
_GAP = r"\s{0,20}"
_OURS = re.compile(rf"{_LT}{_GAP}(?P<close>/?){_GAP}semantic-memory{_GAP}{_GT}", re.IGNORECASE)
_WRAPPERS = r"(?P<name>system[-_]reminder|hook[-_]context|additional[-_]?context|hook[-_]additional[-_]context)"
_WRAPPER_START = re.compile(rf"{_LT}{_GAP}{_WRAPPERS}{_GAP}{_GT}\s*(?:[\w ./-]{{1,80}}:\s*)?\Z", re.IGNORECASE)
_WRAPPER_END = re.compile(rf"{_GAP}{_LT}{_GAP}/{_GAP}{_WRAPPERS}{_GAP}{_GT}", re.IGNORECASE)
_WRAPPER_REACH = 250
_BLANK_LINE = re.compile(r"\n[^\S\n]*+\n|\Z")

_Span = tuple[int, int]


# Classic injections, in lower case; a space stands for white space. For captured output only, never for what
# a person says. An order needs its object: "ignore previous errors" passes. Every gap is bounded.
_OLD = "all|any|of|the|these|those|your|my|every|previous|prior|above|earlier|preceding|foregoing|system"
_ORDERS = "(?:instructions?|directives?|prompts?|guidelines|guardrails)"
_POISON = {
    "ignore-instructions": r"(?<!\w)(?:ignore|disregard|forget|override|bypass) "
    rf"(?:(?:{_OLD}) ){{1,6}}{_ORDERS}(?!\w)",
    "new-instructions": r"(?:^|[\n.!?*#\]])[\s*#>]{0,8}(?:new|updated|real|actual) (?:system )?instructions:",
    "role-change": r"you are now (?:[\w,'-]+ ){0,4}"
    r"(?:dan|jailbroken|unrestricted|unfiltered|free from)(?!\w)",
    "reveal-prompt": r"(?:reveal|print|show|repeat|output|leak|disclose) (?:me )?(?:all )?(?:of )?your "
    r"(?:(?:entire|full|initial|hidden|secret|original) ){0,2}(?:system (?:prompt|message)|instructions)",
    "hide-from-user": r"(?:do not|don['’]?t|never) (?:tell|inform|mention|alert|notify|reveal) "
    r"(?:(?:this|it|that|anything) to )?the (?:user|human)(?!\w)",
    "role-token": r"<\|\s{0,3}(?:im_start|start_header_id|system|assistant)|\[/?inst\]|<</?sys>>",
    "role-turns": r"\n[^\S\n]{0,20}\n[^\S\n]{0,8}human:"
    r"(?:(?!\n[^\S\n]{0,8}human:)[^\x00]){0,2000}?\n[^\S\n]{0,8}assistant:",
    "chinese": "(?:忽略|忽視|忽视|无视|無視|忘记|忘記|不要理会|不要遵守)(?:掉|你|您)?.{0,4}?"
    "(?:之前|以前|先前|以上|上面|上述|前面|此前|所有|全部|一切|任何|系统|系統).{0,8}?(?:指令|指示|提示|命令)"
    "|你现在(?:是|扮演)|你現在是|(?:不要|别|不得)告诉用户"
    "|(?:输出|显示|泄露|透露|告诉我)你的(?:系统)?提示",
    "german": "(?:ignorier|vergiss|missacht)[a-z]{0,3} "
    "(?:(?:sie|alle|die|deine|ihre|sämtliche|bisherigen|vorherigen|vorigen|obigen) ){1,5}"
    "(?:anweisung|instruktion|befehl|vorgabe)",
    "spanish": "(?:ignor|olvid)(?:[ae]n?|ar) (?:(?:todas|las|tus|sus|anteriores|previas) ){1,4}"
    "(?:instrucciones|órdenes)",
    "french": "(?:ignor|oubli)e[zr]? (?:(?:toutes|les|tes|vos|ces|précédentes) ){1,4}(?:instructions|consignes)",
}
_POISONED = {name: re.compile(pattern.replace(" ", r"\s{1,9}")) for name, pattern in _POISON.items()}


def clean(text: str) -> str:
    """The text as it may be stored; may be empty."""
    text = _without_controls(text)
    spans = _with_wrappers(text, _own_blocks(text))
    return _without(text, spans).strip()


def clean_label(text: str) -> str:
    """A short name (tag, project, session, harness, actor) on one line."""
    return " ".join(clean(text).split())


def normalised(text: str) -> str:
    """What two texts must share to be the same memory: NFC, white space collapsed."""
    return " ".join(unicode_form(text, form="NFC").split())


def content_hash(text: str) -> str:
    """SHA-256 of the normalised text, in hexadecimal."""
    return hashlib.sha256(normalised(text).encode("utf-8", "surrogatepass")).hexdigest()


def poisoned(text: str) -> str | None:
    """The name of the first planted order in captured output, if there is one: as a model reads it."""
    seen = seen_form(_TAGS.sub(lambda tag: chr(ord(tag[0]) - _TAG), text))
    views = {seen, _MARKS.sub(" ", seen)}
    return next((name for name, pattern in _POISONED.items() if any(map(pattern.search, views))), None)


def _without_controls(text: str) -> str:
    if _SURROGATES.search(text):  # halves of a pair find each other, lone ones become U+FFFD
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    text = _LINE_ENDS.sub("\n", _ANSI.sub("", text))
    return _UNSEEN_TEXT.sub(r"\1", _REMOVED.sub("", text))


def _own_blocks(text: str) -> list[_Span]:
    """Where our blocks stand. An opening without an end takes the rest of its paragraph, an end itself."""
    opened: list[re.Match[str]] = []
    spans: list[_Span] = []
    for tag in _OURS.finditer(text):
        if not tag["close"]:
            opened.append(tag)
        elif opened:
            spans.append((opened.pop().start(), tag.end()))
        else:
            spans.append(tag.span())
    end = 0
    for tag in opened:
        if tag.start() >= end:
            blank = _BLANK_LINE.search(text, tag.end())
            end = blank.start() if blank else len(text)
            spans.append((tag.start(), end))
    return _merged(text, spans)


def _merged(text: str, spans: Iterable[_Span]) -> list[_Span]:
    merged: list[_Span] = []
    for start, end in sorted(spans):
        if merged and (start <= merged[-1][1] or text[merged[-1][1] : start].isspace()):
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _with_wrappers(text: str, spans: list[_Span]) -> list[_Span]:
    """Each span with the tags of other harnesses that hold nothing else."""
    widened = [_widened(text, span) for span in spans]
    return _merged(text, widened) if widened != spans else spans


def _widened(text: str, span: _Span) -> _Span:
    start, end = span
    for _ in range(4):
        after = _WRAPPER_END.match(text, end)
        before = _WRAPPER_START.search(text[max(0, start - _WRAPPER_REACH) : start]) if after else None
        if not after or not before or before["name"].lower() != after["name"].lower():
            break
        start, end = start - len(before[0]), after.end()
    return start, end


def _without(text: str, spans: list[_Span]) -> str:
    """The text without the spans, and with a space where words, or halves of a tag, would otherwise meet."""
    pieces: list[str] = []
    position = 0
    for start, end in spans:
        pieces.append(text[position:start])
        if text[start - 1 : start].strip() and text[end : end + 1].strip():
            pieces.append(" ")
        position = end
    return "".join(pieces) + text[position:]
