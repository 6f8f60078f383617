"""What a person may type. Checks are the domain's; these forms only read."""

from typing import Any

from django import forms
from django.contrib.admin.widgets import AdminTextareaWidget, AdminTextInputWidget

from memories.admin.scopes import Visitor, clean_label, scope_field
from memories.models import Kind, Memory

COMMAS = "Separated by commas."


def joined(tags: list[str]) -> str:
    return ", ".join(tags)


class Labels(forms.Form):
    """Kind and tags; None for what was left as it was."""

    kind = forms.ChoiceField(choices=Kind)
    tags = forms.CharField(required=False, help_text=COMMAS, widget=AdminTextInputWidget)

    def changed(self, name: str) -> Any:
        """What was typed into a field, None if it was not touched. A tag may hold a comma itself."""
        if name not in self.changed_data:
            return None
        value = self.cleaned_data[name]
        return value.split(",") if name == "tags" else value


class EditForm(Labels):
    project = forms.CharField(required=False, help_text="Empty: everywhere.", widget=AdminTextInputWidget)

    @staticmethod
    def initial_of(memory: Memory) -> dict[str, str]:
        return {"kind": memory.kind, "tags": joined(memory.tags), "project": memory.project}


class ReplaceForm(Labels):
    content = forms.CharField(strip=False, label="New text", widget=AdminTextareaWidget)

    field_order = ("content", "kind", "tags")

    @staticmethod
    def initial_of(memory: Memory) -> dict[str, str]:
        return {"kind": memory.kind, "tags": joined(memory.tags), "content": memory.content}


class AddForm(forms.Form):
    content = forms.CharField(strip=False, widget=AdminTextareaWidget)
    kind = forms.ChoiceField(choices=Kind, initial=Kind.FACT)
    scope = forms.CharField()
    project = forms.CharField(
        required=False,
        help_text="Such as owner/name. Empty: it holds everywhere.",
        widget=AdminTextInputWidget,
    )
    tags = forms.CharField(required=False, help_text=COMMAS, widget=AdminTextInputWidget)
    pinned = forms.BooleanField(required=False, help_text="Kept whatever its age.")
    ttl_seconds = forms.FloatField(
        required=False, label="Time to live", help_text="Seconds. Empty: no end.", widget=AdminTextInputWidget
    )
    valid_from = forms.CharField(
        required=False,
        help_text="Since when it holds, such as 2026-03-01 or 2026-03-01T12:00:00Z. Empty: now.",
        widget=AdminTextInputWidget,
    )

    def __init__(self, data: Any = None, *, user: Visitor, **options: Any) -> None:
        super().__init__(data, **options)
        self.fields["scope"] = scope_field(user)


class GrantForm(forms.ModelForm):  # type: ignore[type-arg]
    def clean_scope(self) -> str:
        return clean_label(self.cleaned_data["scope"], name="scope")


class AliasForm(forms.ModelForm):  # type: ignore[type-arg]
    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        return {
            name: clean_label(value, name=name) if isinstance(value, str) else value for name, value in cleaned.items()
        }
