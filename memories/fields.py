"""A JSON list of labels with an exact membership test."""

from typing import Any

from django.db.models import JSONField, Lookup
from django.db.models.sql.compiler import SQLCompiler


class TagsField(JSONField):
    """A list of strings. `tags__has="auth"` is true for lists that hold exactly that string."""


@TagsField.register_lookup
class Has(Lookup):
    lookup_name = "has"
    prepare_rhs = False

    def get_db_prep_lookup(self, value: Any, connection: Any) -> tuple[str, tuple[Any, ...]]:
        return "%s", (value,)

    def as_sqlite(self, compiler: SQLCompiler, connection: Any) -> tuple[str, list[Any]]:
        lhs, lhs_params = self.process_lhs(compiler, connection)
        rhs, rhs_params = self.process_rhs(compiler, connection)
        sql = f"EXISTS (SELECT 1 FROM json_each({lhs}) WHERE json_each.value = {rhs})"  # noqa: S608
        return sql, [*lhs_params, *rhs_params]
