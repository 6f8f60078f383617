"""The knowledge graph of the MCP reference server: entities with observations, and relations between them."""

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from memories.errors import Rejected
from memories.transfer import foreign
from memories.transfer.foreign import Found, Item
from memories.transfer.report import Flaw
from memories.transfer.source import Source, document


def read(source: Source, *, now: datetime) -> Iterator[Found]:
    """JSON lines as the server keeps them, or the one document that its tool `read_graph` answers."""
    whole = _graph(source)
    for place, value in whole if whole is not None else source.lines():
        yield from [value] if isinstance(value, Flaw) else _found(value, place, now=now)


def _graph(source: Source) -> Iterator[tuple[str, Any]] | None:
    if b'"entities"' not in source.beginning():
        return None
    try:
        value = document(source.text(), name=source.name)
    except Rejected:
        return None
    if not isinstance(value, dict) or not isinstance(value.get("entities"), list):
        return None
    relations = value.get("relations")
    typed = [("entity", value["entities"]), ("relation", relations if isinstance(relations, list) else [])]
    return (
        (f"{name} {number}", {"type": name, **one} if isinstance(one, dict) else Flaw(f"{name} {number}", "No object."))
        for name, listed in typed
        for number, one in enumerate(listed, start=1)
    )


def _found(value: Mapping[str, Any], place: str, *, now: datetime) -> Iterator[Found]:
    if value.get("type") == "entity":
        yield from _entity(value, place, now=now)
    elif value.get("type") == "relation":
        yield _relation(value, place)
    else:
        yield Flaw(place, "It is neither an entity nor a relation.")


def _entity(value: Mapping[str, Any], place: str, *, now: datetime) -> Iterator[Found]:
    name, kind = value.get("name"), value.get("entityType")
    observations = value.get("observations", [])
    if not isinstance(name, str) or not name.strip() or not isinstance(observations, list):
        yield Flaw(place, "An entity has a name and a list of observations.")
        return
    kind = kind if isinstance(kind, str) else ""
    labels = foreign.tags([name, kind])
    if not observations:
        yield Item(place=place, content=f"{name} ({kind})" if kind else name, tags=labels)
    for observation in observations:
        yield _observation(observation, name, place, labels, now=now)


def _observation(observation: Any, name: str, place: str, labels: list[str], *, now: datetime) -> Found:
    stated = {"content": observation} if isinstance(observation, str) else observation
    if not isinstance(stated, dict) or not isinstance(stated.get("content"), str):
        return Flaw(place, f"An observation of {name[:40]!r} is no text: {json.dumps(observation)[:40]}.")
    text = stated["content"]
    content = text if text.casefold().startswith(name.casefold()) else f"{name}: {text}"
    created = foreign.when(stated.get("timestamp") or stated.get("created_at"), now=now)
    return Item(place=place, content=content if text.strip() else "", tags=labels, created=created)


def _relation(value: Mapping[str, Any], place: str) -> Found:
    parts = [value.get(name) for name in ("from", "relationType", "to")]
    if not all(isinstance(part, str) and part.strip() for part in parts):
        return Flaw(place, "A relation has from, to and relationType.")
    older, verb, newer = map(str, parts)
    return Item(place=place, content=f"{older} {verb.replace('_', ' ')} {newer}", tags=foreign.tags([older, newer]))
