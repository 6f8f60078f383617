"""opencode, by our plugin: it puts the block into the prompt itself and says so afterwards."""

from collections.abc import Iterator, Mapping

from memsite.harnesses.base import Event, Harness, Json, Turn


class Opencode(Harness):
    name = "opencode"
    told = frozenset({Event.PROMPT})
    reports_itself = True

    def messages(self, raw: Json) -> Iterator[Turn]:
        messages = raw.get("messages")
        for message in messages if isinstance(messages, list) else ():
            said = self.turn(message) if isinstance(message, Mapping) else None
            if said:
                yield said


HARNESS = Opencode()
