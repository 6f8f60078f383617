"""An import of what another program knows: each item through `remember()`, unless it was brought in before."""

from dataclasses import dataclass
from datetime import datetime

from memories.cleaning import poisoned
from memories.draft import Draft, prepare
from memories.errors import MemoriesError, StoreFull, StoreUnavailable
from memories.models import Kind, Memory, Source
from memories.remember import remember
from memories.transfer.foreign import Item
from memories.transfer.report import Outcome, Tally
from memories.validity import stronger_of


@dataclass
class Keeping:
    """One import into a scope, and into a project if one is given."""

    actor: str
    tally: Tally
    now: datetime
    scope: str = ""
    project: str | None = None
    dry_run: bool = False

    def __post_init__(self) -> None:
        self._foreseen: set[tuple[str, str, str]] = set()

    def take(self, item: Item) -> None:
        try:
            outcome, redacted = self._outcome(self._draft(item))
        except (StoreFull, StoreUnavailable):
            raise
        except MemoriesError as error:
            outcome, redacted = Outcome("bad", str(error)), ()
        self.tally.add(outcome, place=item.place, redacted=redacted)

    def _draft(self, item: Item) -> Draft:
        return Draft(
            content=item.content,
            kind=item.kind,
            source=Source.IMPORT,
            scope=self.scope,
            project=self.project if self.project is not None else item.project or None,
            cwd=item.folder or None,
            tags=item.tags,
            harness=item.harness,
            session=item.session,
            actor=item.actor or self.actor,
            ttl_seconds=(item.expires - self.now).total_seconds() if item.expires else None,
            valid_from=item.created,
            pinned=item.pinned,
        )

    def _outcome(self, draft: Draft) -> tuple[Outcome, tuple[str, ...]]:
        prepared = prepare(draft, now=self.now)
        memory = prepared.memory
        if memory.kind == Kind.ARTIFACT and poisoned(memory.content):
            return Outcome("skipped", "It looks like an instruction to the model."), ()
        foreseen = self._foresee(memory)
        if foreseen.status in ("unchanged", "forgotten") or self.dry_run:
            return foreseen, prepared.redacted
        remembered = remember(draft)
        return Outcome("created" if remembered.status == "created" else "refreshed"), prepared.redacted

    def _foresee(self, memory: Memory) -> Outcome:
        """What was brought in before and was forgotten or replaced since is not brought in again."""
        place = (memory.scope, memory.project, memory.content_hash)
        same = Memory.objects.filter(scope=memory.scope, project=memory.project, content_hash=memory.content_hash)
        twin = same.live().unexpired(self.now).first()
        if twin:
            return Outcome("refreshed" if stronger_of(twin, memory) else "unchanged")
        before = same.filter(source=Source.IMPORT).order_by("-pk").first()
        if before:
            return Outcome("unchanged" if before.deleted_at is None else "forgotten")
        known = place in self._foreseen
        if self.dry_run:
            self._foreseen.add(place)
        return Outcome("unchanged" if known else "created")
