"""The page on which a person asks like an agent, and sees why each memory comes back or does not."""

from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib.admin.widgets import AdminTextareaWidget, AdminTextInputWidget

from memories.admin.scopes import Visitor, scope_field
from memories.conf import config
from memories.errors import MemoriesError
from memories.querysets import ANY_PROJECT
from memories.recall import LIMIT, Examined, Item, Question, examine
from memories.texts import opening


class AskForm(forms.Form):
    query = forms.CharField(
        widget=AdminTextareaWidget(attrs={"rows": 3}), help_text="As a person types it to an agent."
    )
    mode = forms.ChoiceField(choices=[("inject", "inject: into a prompt"), ("search", "search: broad, no gate")])
    scope = forms.CharField()
    project = forms.CharField(
        required=False, help_text="Such as owner/name. Empty: every project.", widget=AdminTextInputWidget
    )
    as_of = forms.CharField(
        required=False, label="As of", help_text="A date or time. Empty: now.", widget=AdminTextInputWidget
    )
    limit = forms.IntegerField(min_value=1, max_value=LIMIT, initial=5)
    budget_chars = forms.IntegerField(min_value=0, max_value=1_000_000, initial=2000, label="Budget")

    def __init__(self, data: Any = None, *, user: Visitor) -> None:
        super().__init__(data)
        self.fields["scope"] = scope_field(user)

    def examined(self) -> Examined | None:
        """The answer; None if the form is not filled in, or says now what is wrong with it."""
        if not self.is_valid():
            return None
        given = self.cleaned_data
        question = Question(**{**given, "project": given["project"] or ANY_PROJECT})
        try:
            return examine(question)
        except MemoriesError as error:
            self.add_error(None, str(error))
            return None


@dataclass(frozen=True)
class Channel:
    name: str
    rank: int
    score: float


@dataclass(frozen=True)
class Row:
    """A candidate as the table shows it."""

    item: Item
    text: str
    fate: str
    channels: tuple[Channel, ...]
    coverage: float
    boosts: tuple[str, ...]
    relevance: int
    """In per cent, for the meter beside the gate."""


def rows(examined: Examined) -> list[Row]:
    return [_row(item, fate) for item, fate in examined.candidates]


def gate() -> float:
    return config().inject_min_relevance


def _row(item: Item, fate: str) -> Row:
    why: dict[str, Any] = item.why
    channels = tuple(
        Channel(name, int(value["rank"]), round(float(value["score"]), 3))
        for name, value in why.items()
        if isinstance(value, dict) and "rank" in value
    )
    boosts = [f"{name} × {value:.2f}" for name, value in why.get("boosts", {}).items() if value != 1]
    lift = why.get("neighbour", {}).get("lift")
    if lift:
        boosts.append(f"neighbour + {lift:.2f}")
    if "older" in why.get("conflict", {}):
        boosts.append("newer of a contradiction")
    return Row(
        item=item,
        text=opening(item.memory.content),
        fate=fate,
        channels=channels,
        coverage=float(why.get("coverage", 0.0)),
        boosts=tuple(boosts),
        relevance=round(100 * item.relevance),
    )
