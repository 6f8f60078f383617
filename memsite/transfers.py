"""Memories out and in through a browser: two forms, and what they do within the scopes of who fills them in."""

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

from asgiref.sync import sync_to_async
from django import forms
from django.contrib.admin.widgets import AdminTextInputWidget
from django.core.exceptions import ValidationError
from django.template.defaultfilters import filesizeformat

from memories import clock
from memories.admin.filters import EVERYWHERE
from memories.admin.scopes import Visitor, reach, scope_field, sees_everything
from memories.errors import MemoriesError
from memories.principal import Principal
from memories.querysets import ANY_PROJECT
from memories.transfer import exporting, importing
from memories.transfer.exporting import Extent
from memories.transfer.importing import Target
from memories.transfer.report import MEANINGS, STATUSES, Flaw, Report
from memories.transfer.source import Source
from memsite.guard import MULTIPART_MARGIN, body_limit

MOST_SHOWN = 100
"""Flaws and remarks on the page; the command tells all."""
PART = 1 << 16
"""Characters that are sent at once, and a line at least."""
FORMATS = {"jsonl": "JSON lines, to import", "csv": "CSV, for people"}
TYPES = {"jsonl": "application/jsonl; charset=utf-8", "csv": "text/csv; charset=utf-8"}


class TransferForm(forms.Form):
    scope = forms.CharField()
    project = forms.CharField(required=False, widget=AdminTextInputWidget)
    no_scope = ""
    """What an empty scope means."""

    def __init__(self, data: Any = None, files: Any = None, *, user: Visitor) -> None:
        super().__init__(data, files, auto_id=f"{type(self).__name__}_%s")
        self.user = user
        scope = self.fields["scope"] = scope_field(user)
        if isinstance(scope, forms.ChoiceField):
            scope.choices = [("", self.no_scope), *scope.choices]  # type: ignore[misc]
        scope.required, scope.initial, scope.help_text = False, "", f"Empty: {self.no_scope}."

    @property
    def principal(self) -> Principal:
        return Principal(name=self.user.get_username(), scopes=frozenset(reach(self.user)))

    def clean(self) -> dict[str, Any]:
        if not sees_everything(self.user) and not any(reach(self.user)):
            raise ValidationError("No scope is granted to you.")
        return self.cleaned_data


class ExportForm(TransferForm):
    format = forms.ChoiceField(choices=list(FORMATS.items()))
    no_scope = "every scope you may see"

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["project"].help_text = f"Empty: every project. {EVERYWHERE}: what belongs to none."

    def lines(self) -> Generator[str] | None:
        """The export; None if the form says what is wrong. Nothing is read before the first line is asked for."""
        if not self.is_valid():
            return None
        given = self.cleaned_data
        project = {"": None, ANY_PROJECT: None, EVERYWHERE: ""}.get(given["project"], given["project"])
        extent = Extent(scope=given["scope"], project=project, principal=self.principal)
        try:
            extent.memories(clock.now())  # refuses now, while the answer can still say so
            return exporting.export(extent, format=given["format"])
        except MemoriesError as error:
            self.add_error(None, str(error))
            return None


class ImportForm(TransferForm):
    file = forms.FileField()
    format = forms.ChoiceField(choices=[(name, name) for name in importing.FORMATS], initial="auto")
    dry_run = forms.BooleanField(required=False, initial=True, label="Dry run: only say what would be imported")
    field_order = ("file", "format", "scope", "project", "dry_run")
    no_scope = "as the file says"

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        limit = filesizeformat(body_limit() - MULTIPART_MARGIN)
        self.fields["file"].help_text = f"At most {limit}. For what is larger: memory-mcp import."
        self.fields["project"].help_text = f"Empty: as the file says. {EVERYWHERE}: none."

    def report(self) -> Report | None:
        """What became of the file; None if the form says what is wrong."""
        if not self.is_valid():
            return None
        given = self.cleaned_data
        project = {"": None, ANY_PROJECT: "", EVERYWHERE: ""}.get(given["project"], given["project"])
        target = Target(
            actor=self.principal.name,
            scope=given["scope"],
            project=project,
            principal=self.principal,
            dry_run=given["dry_run"],
        )
        try:
            return importing.bring_in(Source(given["file"].name, given["file"].file), target, format=given["format"])
        except MemoriesError as error:
            self.add_error(None, str(error))
            return None


@dataclass(frozen=True)
class Row:
    status: str
    memories: int
    conflicts: int


@dataclass(frozen=True)
class Shown:
    """A report as the page shows it."""

    report: Report
    rows: tuple[Row, ...]
    flaws: tuple[Flaw, ...]
    remarks: tuple[str, ...]
    redacted: tuple[tuple[str, int], ...]
    is_cut: bool


def shown(report: Report) -> Shown:
    rows = [Row(MEANINGS.get(name, name), report.counts[name], report.conflicts[name]) for name in STATUSES]
    return Shown(
        report=report,
        rows=tuple(row for row in rows if row.memories or row.conflicts),
        flaws=report.flaws[:MOST_SHOWN],
        remarks=report.remarks[:MOST_SHOWN],
        redacted=tuple(sorted(report.redacted.items())),
        is_cut=max(len(report.flaws), len(report.remarks)) > MOST_SHOWN,
    )


class Streamed:
    """Lines for a streaming response, read as the browser takes them.

    Each step runs in the one thread of the request: the snapshot belongs to the connection of that thread. Django calls
    `close` there too, when all is sent or the browser has left.
    """

    def __init__(self, lines: Generator[str]) -> None:
        self._lines = lines

    def __aiter__(self) -> "Streamed":
        return self

    async def __anext__(self) -> bytes:
        part = await sync_to_async(self._part)()
        if not part:
            raise StopAsyncIteration
        return part.encode()

    def close(self) -> None:
        self._lines.close()

    def _part(self) -> str:
        part, length = [], 0
        for line in self._lines:
            part.append(line)
            length += len(line)
            if length >= PART:
                break
        return "".join(part)
