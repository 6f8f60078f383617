from argparse import ArgumentParser
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from memories.errors import NotFound
from memories.models import AccessToken
from memsite.access import new_token
from memsite.store import prepare_store


class Command(BaseCommand):
    help = "Create, list or revoke the access tokens of clients."
    requires_system_checks = ()

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
        prepare_store()
        if action == "create":
            self._create(**options)
        elif action == "revoke":
            self._revoke(options["name"])
        else:
            self._list()

    def _create(self, *, name: str, scope: list[str], read_only: bool, maintain: bool, **_: Any) -> None:
        token, token_hash = new_token()
        row = AccessToken(
            name=name.strip(),
            token_hash=token_hash,
            scopes=scope,
            may_write=not read_only,
            may_maintain=maintain,
        )
        try:
            row.full_clean()
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from None
        row.save()
        self.stdout.write(token)

    def _revoke(self, name: str) -> None:
        if not AccessToken.objects.filter(name=name, revoked=None).update(revoked=timezone.now()):
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
            self.stdout.write("\t".join([row.name, *filter(None, rights)]))
