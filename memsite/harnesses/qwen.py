"""Qwen Code. Its prompt event comes again when the model goes on after a tool, then without a new prompt."""

from memsite.harnesses.base import Harness


class Qwen(Harness):
    name = "qwen"
    folder = ".qwen"


HARNESS = Qwen()
