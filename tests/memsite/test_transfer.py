"""`export`, `import` and `purge --archive` as a terminal runs them."""

import io
import json
import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from memories.models import Memory
from memsite.management import store_command
from tests.service import Home

type Remembered = Callable[..., Memory]
in_store = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _store_is_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_command, "prepare_store", lambda: None)


def run(*arguments: str) -> tuple[str, str]:
    out, err = io.StringIO(), io.StringIO()
    call_command(*arguments, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


@in_store
def test_an_export_is_a_new_file_for_its_owner_alone(remembered: Remembered, tmp_path: Path) -> None:
    remembered("the parrot")
    file = tmp_path / "all.jsonl"
    assert str(file) in run("export", str(file))[1]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert file.read_text(encoding="utf-8") == run("export")[0]
    assert [one.name for one in tmp_path.iterdir()] == ["all.jsonl"]


@in_store
def test_an_export_replaces_a_file_only_by_force_and_never_what_a_link_leads_to(
    remembered: Remembered, tmp_path: Path
) -> None:
    remembered("the parrot")
    (tmp_path / "target").write_text("precious", encoding="utf-8")
    file = tmp_path / "link"
    file.symlink_to(tmp_path / "target")
    with pytest.raises(CommandError, match="--force"):
        run("export", str(file))
    assert file.is_symlink()
    run("export", str(file), "--force")
    assert not file.is_symlink()
    assert "parrot" in file.read_text(encoding="utf-8")
    assert (tmp_path / "target").read_text(encoding="utf-8") == "precious"


@in_store
def test_a_file_system_without_links_still_gets_its_file(
    remembered: Remembered, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    run("export", str(tmp_path / "all.jsonl"))
    assert [one.name for one in tmp_path.iterdir()] == ["all.jsonl"]


@in_store
@pytest.mark.parametrize("target", ["missing/all.jsonl", "."])
def test_a_place_that_cannot_be_written_is_one_sentence(tmp_path: Path, target: str) -> None:
    with pytest.raises(CommandError) as error:
        run("export", str(tmp_path / target), "--force")
    assert "\n" not in str(error.value)
    assert list(tmp_path.iterdir()) == []


@in_store
def test_a_table_for_people(remembered: Remembered, tmp_path: Path) -> None:
    remembered("=1+1", project="acme/shop")
    remembered("elsewhere")
    out, _ = run("export", "--format", "csv", "--project", "acme/shop")
    assert '"\'=1+1"' in out
    assert "elsewhere" not in out


@in_store
def test_an_import_sums_up_and_ends_with_an_error_if_anything_was_bad(tmp_path: Path) -> None:
    file = tmp_path / "graph.jsonl"
    entity = json.dumps({"type": "entity", "name": "Ada", "entityType": "person", "observations": ["likes tea"]})
    file.write_text(f"{entity}\n{{\n", encoding="utf-8")
    out, err = io.StringIO(), io.StringIO()
    with pytest.raises(CommandError) as error:
        call_command("import", str(file), stdout=out, stderr=err)
    assert "1 of 2" in str(error.value)
    assert "line 2: " in err.getvalue()
    assert "1 created, 1 bad" in out.getvalue()
    assert Memory.objects.get().actor.startswith("cli")


@in_store
def test_a_dry_run_says_so(tmp_path: Path) -> None:
    file = tmp_path / "AGENTS.md"
    file.write_text("# Rules\n- be brief\n", encoding="utf-8")
    out, _ = run("import", str(file), "--dry-run", "--project", "acme/shop")
    assert "nothing was written: 1 created" in out
    assert not Memory.objects.exists()
    assert "bullets: 1 created" in run("import", str(file), "--project", "acme/shop")[0]
    assert Memory.objects.get().project == "acme/shop"


@in_store
def test_an_export_comes_in_by_standard_input(remembered: Remembered, monkeypatch: pytest.MonkeyPatch) -> None:
    remembered("the parrot")
    text, _ = run("export")
    Memory.objects.all().delete()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert "1 created" in run("import", "-")[0]
    assert run("export")[0] == text


@pytest.mark.django_db(transaction=True)
def test_purge_archives_what_has_expired(remembered: Remembered, tmp_path: Path) -> None:
    memory = remembered("the parrot", ttl_seconds=60)
    Memory.objects.filter(pk=memory.pk).update(expires_at=memory.created_at)
    file = tmp_path / "old.jsonl"
    run("purge", "--dry-run", "--archive", str(file))
    assert not file.exists()
    run("purge", "--archive", str(file))
    assert not Memory.objects.exists()
    run("import", str(file))
    assert Memory.objects.live().get().content == "the parrot"


@pytest.mark.server
@pytest.mark.usefixtures("settled")
def test_an_import_and_an_export_survive_any_locale(home: Home, tmp_path: Path) -> None:
    notes = tmp_path / "a b'ü.md"
    notes.write_text("- 鸚鵡是綠色的\n- Привет\n", encoding="utf-8")
    narrow = {"LC_ALL": "C", "PYTHONIOENCODING": "latin-1"}
    assert home.run("import", str(notes), **narrow).returncode == 0
    result = home.run("export", **narrow)
    assert result.returncode == 0, result.stderr
    assert "鸚鵡是綠色的" in result.stdout
    assert "Привет" in result.stdout
    missing = home.run("import", str(tmp_path / "nothing"))
    assert (missing.returncode, missing.stderr.count("\n")) == (1, 1)
