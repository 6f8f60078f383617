from typing import Any

from memories import lifecycle
from memsite.management.store_command import StoreCommand


class Command(StoreCommand):
    help = "Make the vectors that are missing."

    def handle(self, **_options: Any) -> None:
        done = lifecycle.backfill()
        self.say(f"Repaired {done.repaired}, pending {done.pending}. No embedding model is in use: keywords only.")
