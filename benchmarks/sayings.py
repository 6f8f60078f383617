"""What coding agents might remember of a dozen projects: sentences that a person can read in a picture."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

SEED = 7
PROJECTS = (
    "acme/shop", "acme/billing", "acme/mobile", "acme/infra", "globex/atlas", "globex/pipeline", "initech/portal", "",
)  # fmt: skip
WEIGHTS = (30, 18, 12, 10, 12, 9, 6, 3)
SESSIONS_A_DAY = 6

_PARTS = (
    "checkout", "cart", "search", "catalogue", "payments", "invoices", "refunds", "webhooks", "sessions", "accounts",
    "notifications", "exports", "uploads", "audit log", "rate limiter", "job queue", "feature flags", "image resizer",
    "address book", "tax rules", "stock sync", "mail templates", "reports", "permissions", "onboarding", "scheduler",
)  # fmt: skip
_MODULES = ("api", "models", "views", "tasks", "forms", "serializers", "middleware", "admin", "client", "parsers")
_TOOLS = ("pytest", "ruff", "mypy", "docker compose", "terraform", "eslint", "vite", "gradle", "helm", "pre-commit")
_REASONS = (
    "the old client leaked connections", "the queries ran once a row", "the vendor drops the v1 API in spring",
    "nobody could read the callbacks", "it halves the cold start", "two teams had written the same code twice",
    "the test suite took eleven minutes", "support could not see what had happened",
)  # fmt: skip
_FACTS = (
    "The {part} module lives in src/{slug}/{module}.py; its tests are in tests/{slug}/test_{module}.py.",
    "The {part} endpoint answers 409 when the {module} version is stale; clients must reload and retry.",
    "The {part} cache keys start with {slug}:{number} and expire after {minutes} minutes.",
    "The {part} worker retries {few} times with exponential backoff, then parks the job in the {slug}_{module} queue.",
    "Migration {number} of {part} locks the table for about {minutes} s: run it outside of office hours.",
    "The flaky test of {part} ({module}) was a race with the clock; it passes when TZ is UTC.",
    "In {part}, {module} reads its limits from {slug}.toml, section [{module}], not from the environment.",
    "The {part} dashboards are in Grafana, folder {slug}-{number}; the alert pages after {minutes} minutes.",
)
_DECISIONS = (
    "We write {part} {module} without the ORM: {reason}. Decided in review {number}.",
    "The {part} {module} are versioned by date, not by number, because {reason}.",
    "All {part} jobs are idempotent by key {slug}:{module}:{number}, since {reason}.",
    "The {part} {module} stay in the monolith for now; splitting them was rejected: {reason}.",
)
_PREFERENCES = (
    "Never touch {part}/{module} in the same commit as generated files (asked in review {number}).",
    "Run {tool} on {part} {module} before every commit; a failing check is no reason to skip it.",
    "Commit messages of {part} name the {module} first and say why, in the imperative ({number} was sent back).",
)
_ARTIFACTS = (
    "$ {tool} {slug}/{module}\n{number} passed, {few} skipped in {minutes}.4s\nslowest: test_{module}_{slug}_{number}",
    "$ git log --oneline -1 -- src/{slug}/{module}.py\n{number:x}f2a9 {part}: retry on 503, drop v1",
)
_KINDS = (
    ("fact", _FACTS, 50),
    ("decision", _DECISIONS, 20),
    ("preference", _PREFERENCES, 10),
    ("artifact", _ARTIFACTS, 20),
)

CHANGES = (
    ("The session store of the shop is Redis.", "The session store of the shop moved from Redis to Postgres."),
    ("Invoices are numbered from 1 each year.", "Invoices are no longer numbered from 1 each year."),
    ("The deploy key rotates every 30 days.", "The deploy key rotates every 90 days."),
    ("The staging database runs PostgreSQL 15.", "The staging database runs PostgreSQL 17."),
    ("Uploads larger than 20 MB are refused.", "Uploads larger than 50 MB are refused."),
)
"""Pairs that contradict each other: the later one is newer."""


@dataclass(frozen=True)
class Saying:
    at: datetime
    content: str
    kind: str
    project: str
    session: str
    harness: str


def sayings(count: int, *, until: datetime, days: int = 45) -> Iterator[Saying]:
    """Distinct sentences, the oldest first, busier on working days."""
    chance = random.Random(SEED)
    moments = sorted(until - timedelta(days=days * chance.random() ** 1.3) for _ in range(count))
    seen: set[str] = set()
    for moment in moments:
        rests = moment.weekday() >= 5 and chance.random() < 0.7
        at = moment - timedelta(days=2) if rests else moment
        kind, text = _text(chance)
        while text in seen:
            kind, text = _text(chance)
        seen.add(text)
        project = chance.choices(PROJECTS, WEIGHTS)[0]
        harness = chance.choices(("claude", "codex", "opencode", "gemini"), (5, 3, 2, 1))[0]
        session = f"{project or 'home'}-{at:%m%d}-{chance.randrange(SESSIONS_A_DAY)}"
        yield Saying(at, text, kind, project, session, harness)


def _text(chance: random.Random) -> tuple[str, str]:
    kind, templates, _ = chance.choices(_KINDS, [weight for *_, weight in _KINDS])[0]
    part = chance.choice(_PARTS)
    return kind, chance.choice(templates).format(
        part=part,
        slug=part.replace(" ", "_"),
        module=chance.choice(_MODULES),
        tool=chance.choice(_TOOLS),
        reason=chance.choice(_REASONS),
        number=chance.randrange(101, 999),
        minutes=chance.randrange(2, 45),
        few=chance.randrange(2, 9),
    )
