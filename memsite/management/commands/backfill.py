from typing import Any

from memories import embedders, lifecycle
from memsite.management.store_command import StoreCommand


class Command(StoreCommand):
    help = "Make the vectors that are missing. It may be stopped and goes on where it was."

    def handle(self, **_options: Any) -> None:
        if embedders.current() is None:
            self.say("No embedding model is in use: keywords only. Set MEMORY_MODEL_PATH or MEMORY_EMBED_URL.")
            return
        done = lifecycle.backfill(progress=self.progress)
        self.say(f"Repaired {done.repaired:,}, pending {done.pending:,}.")
