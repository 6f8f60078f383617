"""The one migration operation with raw SQL: full-text indexes and triggers.

Django rebuilds a table for nearly every schema change on SQLite, and SQLite drops the triggers of the dropped table
without a word. Repeat `InstallSearch()` at the end of every migration that alters a memory, passage or audit table.
"""

from typing import Any

from django.db.migrations.operations.base import Operation

from memories import search


class InstallSearch(Operation):
    reversible = True
    reduces_to_sql = True

    def state_forwards(self, app_label: str, state: Any) -> None:
        pass

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        for statement in search.vendor(schema_editor.connection.vendor).install():
            schema_editor.execute(statement)

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        for statement in search.vendor(schema_editor.connection.vendor).uninstall():
            schema_editor.execute(statement)

    def describe(self) -> str:
        return "Install the full-text indexes and their triggers"

    @property
    def migration_name_fragment(self) -> str:
        return "install_search"
