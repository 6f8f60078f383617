"""Claude Code: https://code.claude.com/docs/en/hooks."""

from memsite.harnesses.base import Harness


class Claude(Harness):
    name = "claude"
    folder = ".claude"


HARNESS = Claude()
