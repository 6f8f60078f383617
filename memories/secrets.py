"""Redaction of secrets. Standard library only: the hook process loads this file by its path, alone.

One table, `RULES`. A rule replaces its group `secret` (or the whole match) by `[redacted:<rule>]`; its groups
`quoted` and `bare` are values of an assignment, which stay when they are plain talk, a placeholder or code. A
pattern is tried only where one of its needles starts, and scans a stretch a few times at most (possessive or
bounded quantifiers): linear.
"""

import re
from collections.abc import Iterator


class Rule:
    """A type of secret: where it may start (lower case), how it looks. Compiled at first use: fast import."""

    __slots__ = ("anchor", "flags", "name", "needles", "pattern")

    def __init__(self, name: str, needles: str, pattern: str, flags: int = 0) -> None:
        self.name = name
        self.needles = needles.split()
        self.anchor = "|".join(map(re.escape, self.needles))
        self.pattern = pattern
        self.flags = re.VERBOSE | flags


_A = "[A-Za-z0-9]"
_W = "[A-Za-z0-9_-]"
# No word before it, except the letter of an escaped newline or tab (`"...\neyJ..."` in JSON).
_LEFT = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt]))"
_PEM_BREAK = r"(?: [\s\\\"'>|+,-] | (?<=\\)[nr] )*+"
_PEM_LINE = rf"{_PEM_BREAK} (?: [A-Za-z0-9+/=]{{16,}}+ | (?:Proc-Type|DEK-Info|Version|Comment):[^\n\\]{{0,200}}+ )"
_PEM_TEXT = r"(?: [^-] | -(?!----) )"
_PEM_END = r"-----END\ [A-Z0-9\ ]{0,40}PRIVATE\ KEY(?:\ BLOCK)?-----"
_PEM = rf"""
    -----BEGIN\ (?:[A-Z0-9]{{1,12}}\ ){{0,3}}PRIVATE\ KEY(?:\ BLOCK)?-----
    (?: (?> \s*\n | \\[nr] | {_PEM_TEXT}*? [A-Za-z0-9+/]{{16}} )  {_PEM_TEXT}*+  {_PEM_END}
      | (?: {_PEM_LINE} )++  (?: \s{{1,4}} [A-Za-z0-9+/=]{{1,63}} \s{{0,9}} \Z )?  # cut off
    )
"""
_KEY = r"""
    (?P<key>
        passphrase | password | passwd | passwort | pwd | (?<![a-z]) pass
      | (?: api | access | secret | private | signing | encryption | account | master | service )
        [ _-]? key
      | secret | token | credentials?
    )
    (?: [_-]? (?: access | base | key | value | string ) ){0,3}  [_-]? \d{0,2}
"""
_KEY_STARTS = "pass pwd secret token credential api access private signing encryption account master service"
_QUOTED = r"""[bfru]{0,2} \\? (?P<q>["'`])  (?P<quoted> (?: (?! \\?(?P=q) ) [^\n] ){1,300} )"""
_BARE = r"""(?P<bare> (?: (?! [&;,]\w{1,40}= | \\[nrt"'] ) [^\s"'`] ){1,300} )"""
_ASSIGNMENT = rf"""
    {_KEY}
    (?: \\?["'`] | \] )?  [ \t]{{0,8}}
    (?: :[ ]{{0,4}}(?:str|string|String|SecretStr|bytes)[ ]{{0,4}}(?==) )?
    (?P<op> => | := | = | : | (?<=\bkey)[ ](?=[A-Za-z0-9]{{20}}) )
    [ \t]{{0,8}}
    (?: {_QUOTED} | {_BARE} )
"""
_OPTION = rf"--(?: [a-z]{{1,20}}- ){{0,2}} {_KEY} (?P<op>[ \t]{{1,4}}) (?: {_QUOTED} | {_BARE} )"
_IN_URL = r"""
    :// (?: \[redacted:[a-z-]{1,40}\] | [^\s/:@"'<>\[] )* :
    (?! [$%{*<] | \[redacted: )  (?P<secret> [^\s/"'<>]+ ) @ (?= [\w\[.-] )
"""
_AUTHORIZATION = rf"""
    (?: authorization \\?["']? \s{{0,4}} [:=,] \s{{0,4}} \\?["']?
        (?: bearer | basic | token | apikey )
      | {_LEFT} bearer )
    [ \t]{{1,4}}  (?P<bearer> [A-Za-z0-9._~+/=-]{{8,}} )
"""
_NETRC = r"""
    (?: machine\s{1,20}\S{1,255} | \bdefault ) \s{1,20} login\s{1,20}\S{1,255}
    \s{1,20} password\s{1,20} (?!\[redacted:) (?P<secret> \S{1,255} )
"""
_AWS = r"secret [ _-]? access [ _-]? key \W{1,12} (?P<secret> [A-Za-z0-9/+]{40} ) (?![A-Za-z0-9/+=])"
_JWT = rf"{_LEFT} eyJ{_W}{{8,}} \. (?: eyJ{_W}{{6,}} (?:\.{_W}*)? | {_W}{{2,}}\.[A-Za-z0-9_.-]{{10,}} )"
_GITHUB = rf"gh[posur]_{_A}{{36,}} | github_pat_[A-Za-z0-9_]{{50,}}"
_GITLAB = r"gl (?: pat | ptt | dt | rt | cbt ) - [A-Za-z0-9_.-]{20,}"
_SLACK = rf"xox[abceoprs]-[A-Za-z0-9-]{{10,}} | xapp-\d-{_W}{{20,}}"
_SLACK_URL = r"hooks\.slack\.com/ (?P<secret> (?: services | workflows | triggers ) /[A-Za-z0-9/_-]{20,} )"
_STRIPE = rf"{_LEFT} (?: [sr]k_(?:live|test)_{_A}{{16,}} | whsec_[A-Za-z0-9+/=]{{20,}} )"
_GOOGLE = rf"AIza{_W}{{35}} | GOCSPX-{_W}{{20,}} | {_LEFT}ya29\.{_W}{{20,}}"
_OPENAI = rf"{_LEFT} sk- (?: (?:proj|svcacct|admin|or-v1|None)-{_W}{{20,}} | {_A}{{32,}} )"
_SENDGRID = rf"{_LEFT} SG\.{_W}{{16,}}\.{_W}{{16,}}"
_TELEGRAM = rf"(?<=\d{{8}}) : (?P<secret> AA{_W}{{33}} ) (?!{_W})"
_AWS_ID = rf"{_LEFT} (?: AKIA | ASIA | ABIA | ACCA ) [A-Z0-9]{{16}} (?!{_A})"
_TWILIO = r"twilio [^\n]{0,60}? \b (?P<secret> (?:SK)?[0-9a-f]{32} ) \b"

RULES = (
    Rule("private-key", "-----begin", _PEM),
    Rule("memsite-token", "memsite_", rf"memsite_{_W}{{43}}"),
    Rule("github-token", "ghp_ gho_ ghs_ ghu_ ghr_ github_pat_", _GITHUB),
    Rule("gitlab-token", "glpat- glptt- gldt- glrt- glcbt-", _GITLAB),
    Rule("slack-token", "xox xapp-", _SLACK),
    Rule("slack-webhook", "hooks.slack.com/", _SLACK_URL),
    Rule("stripe-key", "sk_ rk_ whsec_", _STRIPE),
    Rule("google-key", "aiza gocspx- ya29.", _GOOGLE),
    Rule("anthropic-key", "sk-ant-", rf"sk-ant-{_W}{{20,}}"),
    Rule("openai-key", "sk-", _OPENAI),
    Rule("npm-token", "npm_", rf"{_LEFT} npm_{_A}{{36,}}"),
    Rule("pypi-token", "pypi-ag", rf"pypi-Ag{_W}{{50,}}"),
    Rule("huggingface-token", "hf_", rf"{_LEFT} hf_{_A}{{30,}}"),
    Rule("sendgrid-key", "sg.", _SENDGRID),
    Rule("telegram-token", ":aa", _TELEGRAM),
    Rule("jwt", "eyj", _JWT),
    Rule("aws-access-key", "akia asia abia acca", _AWS_ID),
    Rule("aws-secret-key", "secret", _AWS, re.IGNORECASE),
    Rule("twilio-key", "twilio", _TWILIO, re.IGNORECASE),
    Rule("url-password", "://", _IN_URL),
    Rule("authorization", "authorization bearer", _AUTHORIZATION, re.IGNORECASE),
    Rule("password", "machine default", _NETRC, re.IGNORECASE),
    Rule("password", "--", _OPTION, re.IGNORECASE),
    Rule("password", _KEY_STARTS, _ASSIGNMENT, re.IGNORECASE),
)

_PASSWORD_KEYS = ("pass", "pwd")
_KEYWORD = re.compile(r"pass|pwd|secret|token|key|cred|value|bearer|auth", re.IGNORECASE)
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z_.-]*")
_PLACEHOLDER = re.compile(
    r"[{<] | \[redacted: | \.\.\. | … | \*{3} | %(?:s|\(|[A-Z_]+%)"
    r"| \$(?: [{(] | [A-Z_][A-Z0-9_]*\b | [A-Za-z_]+\b )"
    r"| (?i: x{3,} | your | example | placeholder | change.?me )",
    re.VERBOSE,
)
_CODE = re.compile(
    r"[A-Za-z_][\w.]* (?: [(\[] | \?\. | :: | -> )"  # a call, an index
    r"| (?: [A-Za-z_]\w*\. )+ [A-Za-z_]\w* $"  # settings.PASSWORD
    r"| [\[(|=]",
    re.VERBOSE,
)
_PATH = re.compile(r"(?: ~ | \.{1,2} )? / [\w.@~-]* (?: / | $ ) | [A-Za-z]:\\ | \w{1,20}://", re.VERBOSE)
_WORDS = re.compile(
    r"""any | boolean | bytes | default | empty | false | field | hidden | input | invalid | missing | nil
    | none | null | number | optional | password | required | str | string | text | true | undefined | unset
    | varchar""",
    re.VERBOSE,
)


def redact(text: str) -> tuple[str, tuple[str, ...]]:
    """The text with each secret as `[redacted:<type>]`, and the sorted types. Idempotent."""
    found: set[str] = set()
    before: str | None = None
    while text != before:  # a replacement may lay another secret bare; each round removes text, two are the rule
        before = text
        text = _redact_once(text, found)
    return text, tuple(sorted(found))


def _redact_once(text: str, found: set[str]) -> str:
    lowered = _lowered(text)
    for rule in RULES:
        if any(needle in lowered for needle in rule.needles):
            redacted = "".join(_pieces(text, lowered, rule, found))
            if redacted != text:
                text, lowered = redacted, _lowered(redacted)
    return text


def _lowered(text: str) -> str:
    return text.replace(
        "\u0130", "I"
    ).lower()  # the only letter whose lower case is longer, which would shift positions


def _pieces(text: str, lowered: str, rule: Rule, found: set[str]) -> Iterator[str]:
    end, pattern = 0, re.compile(rule.pattern, rule.flags)
    for needle in re.finditer(rule.anchor, lowered):
        match = pattern.match(text, needle.start()) if needle.start() >= end else None
        if match:
            yield text[end : match.start()]
            yield _replacement(match, rule, found)
            end = match.end()
    yield text[end:]


def _replacement(match: re.Match[str], rule: Rule, found: set[str]) -> str:
    groups = match.groupdict()
    group = next((name for name in ("secret", "quoted", "bare", "bearer") if groups.get(name)), None)
    value = match[0] if group is None else groups[group]
    name = rule.name
    if "key" in groups and not groups["key"].lower().startswith(_PASSWORD_KEYS):
        name = "secret"
    if _stays(group, value, groups):
        return match[0]
    found.add(name)
    if group is None:
        return f"[redacted:{name}]"
    start, end = match.start(group) - match.start(), match.end(group) - match.start()
    rest = value[len(value.rstrip(",;)")) :] if group == "bare" else ""
    return f"{match[0][:start]}[redacted:{name}]{rest}{match[0][end:]}"


def _stays(group: str | None, value: str, groups: dict[str, str]) -> bool:
    if group == "quoted":
        return _plain(value) or _harmless_quoted(value, groups["key"].lower(), groups["op"])
    if group == "bare":
        return _plain(value) or _harmless_bare(value, groups["key"].lower(), groups["op"])
    return group == "bearer" and (_names_a_secret(value) or not _mixed(value))


def _plain(value: str) -> bool:
    word = value.strip(" .,;:!?)]}").lower()
    return len(word) < 4 or bool(_WORDS.fullmatch(word)) or bool(_PLACEHOLDER.match(value))


def _harmless_quoted(value: str, key: str, op: str) -> bool:
    if key.startswith(_PASSWORD_KEYS):
        return (" " in value and op != "=") or (value.islower() and _names_a_secret(value) and value == key)
    if " " in value or len(value) < 8 or _PATH.match(value):
        return True
    return not _mixed(value) and (len(value) < 12 or op != "=")


def _harmless_bare(value: str, key: str, op: str) -> bool:
    """Unquoted text after a key: a value of an environment file, an expression, or a word of a sentence."""
    word = value.rstrip(",;).:!?")
    if _names_a_secret(word) or _CODE.match(value) or _PATH.match(value):
        return True
    if op in ("=", ":=") and key.startswith(_PASSWORD_KEYS):
        return bool(_IDENTIFIER.fullmatch(word)) and value[-1] in "),"  # a keyword argument
    if key.startswith(_PASSWORD_KEYS):
        return not _mixed(word) or key == "pass" or word.lower().startswith("1password")
    return len(word) < 8 or not _mixed(word)


def _names_a_secret(word: str) -> bool:
    return bool(_IDENTIFIER.fullmatch(word) and _KEYWORD.search(word))


def _mixed(value: str) -> bool:
    return any(c.isdigit() for c in value) and any(c.isalpha() for c in value)
