"""Arguments of tools, in JSON schemas without what says nothing: every session of every agent pays for their bytes."""

from collections.abc import Mapping
from typing import Any

type Schema = dict[str, Any]

NULL = {"type": "null"}

ALIASES = {
    "text": "content",
    "memory": "content",
    "q": "query",
    "question": "query",
    "id": "uid",
    "memory_id": "uid",
    "top_k": "limit",
    "max_results": "limit",
    "type": "kind",
    "category": "kind",
    "project_id": "project",
}
"""Names of arguments in other memory servers, which models know too."""


def lean_input(schema: Schema) -> Schema:
    """Without titles and references; what is optional is left out instead of null. A schema that was written by hand
    (it names its dialect) stays as it is."""
    return schema if "$schema" in schema else _input(_inlined(schema, schema.get("$defs", {})))


def lean_output(schema: Schema) -> Schema:
    """Without titles, references, defaults and descriptions; of a list's items everything is given."""
    return _output(_inlined(schema, schema.get("$defs", {})))


def _inlined(value: Any, models: Mapping[str, Schema]) -> Any:
    if isinstance(value, list):
        return [_inlined(one, models) for one in value]
    if not isinstance(value, dict):
        return value
    if "$ref" in value:
        return _inlined(models[value["$ref"].rpartition("/")[2]], models)
    return {name: _inlined(one, models) for name, one in value.items() if name != "$defs"}


def _input(schema: Schema) -> Schema:
    lean = {name: value for name, value in schema.items() if name not in ("title", "anyOf", "properties")}
    if "properties" in schema:
        lean["properties"] = {name: _input(one) for name, one in schema["properties"].items()}
    if "items" in lean:
        lean["items"] = _input(lean["items"])
    choices = [_input(one) for one in schema.get("anyOf", ()) if one != NULL]
    if lean.get("default", "") is None:
        del lean["default"]
    return {**choices[0], **lean} if len(choices) == 1 else {**lean, **({"anyOf": choices} if choices else {})}


def _output(schema: Schema) -> Schema:
    kept = ("type", "properties", "required", "items", "additionalProperties")
    lean = {name: schema[name] for name in kept if name in schema}
    if "properties" in lean:
        lean["properties"] = {name: _output(one) for name, one in lean["properties"].items()}
    if "items" in lean:
        lean["items"] = _output(lean["items"])
        lean["items"].pop("required", None)
    if "anyOf" in schema:
        lean["anyOf"] = [_output(one) for one in schema["anyOf"]]
    return lean
