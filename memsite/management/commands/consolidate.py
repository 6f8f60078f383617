from argparse import ArgumentParser
from typing import Any

from memories.truth import consolidation
from memories.truth.consolidation import Cluster
from memsite.management.store_command import StoreCommand

LONGEST = 300


class Command(StoreCommand):
    help = (
        "Make one memory of those that say nearly the same. Nothing is destroyed: they are superseded,"
        " and --undo RUN brings them back as they were."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--scope", default="", help="only this one (default: all)")
        parser.add_argument("--project", help='only this one; "" for memories that belong to no project')
        what = parser.add_mutually_exclusive_group()
        what.add_argument("--dry-run", action="store_true", help="only show the plan, without a judge's summaries")
        what.add_argument("--undo", metavar="RUN", help="bring back what a run made one")

    def handle(self, *, scope: str, project: str | None, dry_run: bool, undo: str | None, **_options: Any) -> None:
        if undo is not None:
            self._undo(undo, scope)
            return
        done = consolidation.consolidate(
            actor=self.actor(), scope=scope, project=project, dry_run=dry_run, progress=self.progress
        )
        for cluster in done.clusters:
            self._show(cluster)
        made, count = len(done.clusters), sum(len(cluster.uids) for cluster in done.clusters)
        would = "Would make" if dry_run else "Made"
        self.say(f"{would} {made:,} of {count:,} memories; looked at {done.looked_at:,}.")
        if done.run:
            self.say(f"Undo it with: memory-mcp consolidate --undo {done.run}")

    def _show(self, cluster: Cluster) -> None:
        text = " ".join(cluster.text.split())
        place = "/".join((cluster.scope, cluster.project or "*", cluster.kind))
        self.say(f"{cluster.uid or 'plan'} <- {', '.join(cluster.uids)} ({place})")
        self.say(f"    {text[:LONGEST]}{'…' if len(text) > LONGEST else ''}")

    def _undo(self, run: str, scope: str) -> None:
        undone = consolidation.undo(run, actor=self.actor(), scopes=[scope] if scope else ())
        self.say(f"Brought back {len(undone.restored):,} memories, removed {len(undone.removed):,} summaries.")
        for uid in undone.left:
            self.say(f"Left {uid} and what it was made of: it was changed, superseded or forgotten since.")
        if not (undone.restored or undone.removed or undone.left):
            self.say("Nothing is left of this run: it was undone before.")
