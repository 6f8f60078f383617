from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from memories.recall import Question, recall
from memsite.management.store_command import StoreCommand


class Command(StoreCommand):
    help = "Ask the store from the terminal; the project is that of the working directory."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("query")
        parser.add_argument("--scope", default="")
        parser.add_argument("--project", help="another project, or * for all")
        parser.add_argument("--limit", type=int, default=5)
        parser.add_argument("--mode", choices=["search", "inject"], default="search")
        parser.add_argument("--as-of", metavar="DATE", help="what was true then")

    def handle(self, *, query: str, **options: Any) -> None:
        asked = {name: options[name] for name in ("scope", "project", "limit", "mode", "as_of")}
        answer = recall(Question(query=query, cwd=str(Path.cwd()), **asked))
        for item in answer.items:
            memory = item.memory
            place = f", {memory.project}" if memory.project else ""
            self.say(f"{item.relevance:.2f}  {memory.uid}  [{memory.kind}, {memory.valid_from:%Y-%m-%d}{place}]")
            self.say("      " + item.excerpt.replace("\n", "\n      "))
        if not answer.items:
            self.say("Nothing relevant is known.")
