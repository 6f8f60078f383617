from argparse import ArgumentParser
from typing import Any

from memories import tokens
from memories.errors import NotFound
from memories.models import AccessToken
from memsite.management.store_command import StoreCommand


class Command(StoreCommand):
    help = "Create, list or revoke the access tokens of clients."

    def add_arguments(self, parser: ArgumentParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        create = actions.add_parser("create", help="print a new token once; only its hash is kept")
        create.add_argument("name")
        create.add_argument("--scope", action="append", default=[], help="only this scope (may be repeated)")
        create.add_argument("--read-only", action="store_true", help="may recall but not store")
        create.add_argument("--maintain", action="store_true", help="may run maintenance")
        actions.add_parser("list", help="show names, rights and last use")
        actions.add_parser("revoke", help="end a token at once").add_argument("name")

    def handle(self, *, action: str, **options: Any) -> None:
        if action == "create":
            self._create(**options)
        elif action == "revoke":
            self._revoke(options["name"])
        else:
            self._list()

    def _create(self, *, name: str, scope: list[str], read_only: bool, maintain: bool, **_: Any) -> None:
        self.say(tokens.create(name, scopes=scope, may_write=not read_only, may_maintain=maintain, actor=self.actor()))

    def _revoke(self, name: str) -> None:
        if not tokens.revoke(AccessToken.objects.filter(name=name), actor=self.actor()):
            raise NotFound(f"There is no token {name!r} that could be revoked.")

    def _list(self) -> None:
        for row in AccessToken.objects.order_by("name"):
            rights = [
                "revoked" if row.revoked else "",
                "write" if row.may_write else "read-only",
                "maintain" if row.may_maintain else "",
                "scopes: " + (", ".join(row.scopes) or "all"),
                f"last used {row.last_used:%Y-%m-%d %H:%M} UTC" if row.last_used else "never used",
            ]
            self.say("\t".join([row.name, *filter(None, rights)]))
