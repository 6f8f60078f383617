"""What a client asks to be kept, and the checked, cleaned, redacted memory that is made of it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from memories.cleaning import clean, content_hash, poisoned
from memories.clock import past
from memories.conf import config
from memories.errors import Rejected
from memories.models import Kind, Memory, Source, Tier
from memories.places import label, project_to_write
from memories.search.scripts import segments
from memories.secrets import redact

MAX_TAGS = 50
LONGEST_TTL = timedelta(days=36_500)
CAPTURED = frozenset({Source.TOOL, Source.COMPACTION})
"""Sources that no person chose: their text may carry instructions from elsewhere."""


@dataclass(frozen=True, kw_only=True)
class Draft:
    """`kind`, `tags`, `project` and `pinned` of None are inherited from what is superseded, else get their defaults.

    `ttl_seconds` makes a working memory; `valid_from` is ISO 8601 and not in the future; `supersedes` holds uids.
    """

    content: str
    kind: str | None = None
    source: str = Source.API
    scope: str = ""
    project: str | None = None
    cwd: str | None = None
    tags: Sequence[str] | None = None
    harness: str = ""
    session: str = ""
    actor: str = ""
    ttl_seconds: float | None = None
    valid_from: str | date | None = None
    supersedes: Sequence[str] = ()
    correction: bool = False
    pinned: bool | None = None
    confidence: float = 1.0
    run: str = ""


@dataclass(frozen=True)
class Prepared:
    """`memory` is not saved yet; `redacted` names the types of secrets that were replaced in it."""

    memory: Memory
    redacted: tuple[str, ...]
    poison: str | None


def one_of(choices: type[Kind] | type[Source] | type[Tier], value: str, *, name: str) -> str:
    if value not in choices:
        raise Rejected(f"{name} {value[:40]!r} is unknown; it is one of {', '.join(choices.values)}.")
    return value


def labels(tags: Iterable[str], *, name: str = "tag") -> list[str]:
    """Distinct cleaned tags in their order."""
    cleaned = list(dict.fromkeys(text for tag in tags if (text := label(tag, name=name))))
    if len(cleaned) > MAX_TAGS:
        raise Rejected(f"A memory may have at most {MAX_TAGS} tags; this one has {len(cleaned)}.")
    return cleaned


def readable(content: str) -> tuple[str, tuple[str, ...]]:
    """The text as it may be stored, and the types of secrets that were replaced in it."""
    text = clean(content)
    if not text:
        raise Rejected("content is empty, or nothing is left of it after cleaning.")
    longest = config().max_content_chars
    if len(text) > longest:
        raise Rejected(f"content has {len(text)} characters; at most {longest} are kept (MEMORY_MAX_CONTENT_CHARS).")
    return redact(text) if config().redact_secrets else (text, ())


def remark(text: str) -> str:
    """A text beside a memory, such as a reason, clean and without secrets; may be empty."""
    cleaned = clean(text)
    return redact(cleaned)[0] if config().redact_secrets else cleaned


def end_of_ttl(seconds: float | None, *, now: datetime) -> datetime | None:
    if seconds is None:
        return None
    if not 0 < seconds <= LONGEST_TTL.total_seconds():
        raise Rejected("ttl_seconds is a number of seconds above 0 and at most 100 years.")
    return now + timedelta(seconds=seconds)


def rest_of_ttl(memory: Memory, *, now: datetime) -> float | None:
    """Seconds that a memory is kept for yet: what an edited text of it is kept for as well."""
    return max(1.0, (memory.expires_at - now).total_seconds()) if memory.expires_at else None


def prepare(draft: Draft, *, now: datetime) -> Prepared:
    """Check and clean a draft. Raises Rejected with one sentence for anything that cannot be kept."""
    source = one_of(Source, draft.source, name="source")
    kind = draft.kind or (Kind.ARTIFACT if source in CAPTURED else Kind.FACT)
    if not 0 <= draft.confidence <= 1:
        raise Rejected("confidence lies between 0 and 1.")
    content, redacted = readable(draft.content)
    scope = label(draft.scope, name="scope") or config().scope
    expires_at = end_of_ttl(draft.ttl_seconds, now=now)
    memory = Memory(
        scope=scope,
        project=project_to_write(draft.project, cwd=draft.cwd, scope=scope),
        kind=one_of(Kind, kind, name="kind"),
        tier=_tier(source, expires_at),
        source=source,
        harness=label(draft.harness, name="harness"),
        session=label(draft.session, name="session"),
        actor=label(draft.actor, name="actor") or label(draft.harness, name="harness"),
        tags=labels(draft.tags or ()),
        content=content,
        segments=segments(content),
        content_hash=content_hash(content),
        pinned=bool(draft.pinned),
        confidence=draft.confidence,
        created_at=now,
        updated_at=now,
        valid_from=past(draft.valid_from, name="valid_from", now=now) or now,
        expires_at=expires_at,
        run=draft.run,
    )
    return Prepared(memory, redacted, poisoned(content) if source in CAPTURED else None)


def _tier(source: str, expires_at: datetime | None) -> str:
    if expires_at:
        return Tier.WORKING
    return Tier.SEMANTIC if source == Source.CONSOLIDATION else Tier.EPISODIC
