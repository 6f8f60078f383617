"""Who is asking, and what they may touch. Made once a request (or by a command), read by every interface."""

from dataclasses import dataclass

from memories.errors import Forbidden


@dataclass(frozen=True)
class Principal:
    """`scopes` empty means every scope. `name` becomes the actor of what is written."""

    name: str = ""
    scopes: frozenset[str] = frozenset()
    may_write: bool = True
    may_maintain: bool = True

    def scope(self, asked: str | None, *, default: str) -> str:
        """The scope to work in: the one asked for, else the only one allowed, else the default.

        Raises Forbidden for a scope outside `scopes`.
        """
        if not asked:
            asked = next(iter(self.scopes)) if len(self.scopes) == 1 else default
        if self.scopes and asked not in self.scopes:
            raise Forbidden(f"The scope {asked!r} is out of reach.")
        return asked

    def check_write(self) -> None:
        if not self.may_write:
            raise Forbidden("This token may read but not write.")

    def check_maintain(self) -> None:
        if not self.may_maintain:
            raise Forbidden("This token may not run maintenance.")


ANYONE = Principal()
