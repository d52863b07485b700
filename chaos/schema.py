"""The published JSON Schema of a history, generated from the dataclasses so that it cannot drift.

``history_schema()`` builds it; ``schemas/history-v1.json`` is the committed copy, and a test
compares the two. It describes every kind of line of a history file, one file, one schema: what a
program in another language must write to be judged by ``admitone judge``. To write the copy anew::

    python -m admitone.chaos.schema > chaos/schemas/history-v1.json
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import MISSING, fields
from types import UnionType
from typing import Any, Final, Literal, Union, get_args, get_origin, get_type_hints

from ..targets.values import NOUNS
from .codec import KINDS
from .events import HISTORY_VERSION, Point

_ANY_JSON: Final[dict[str, Any]] = {"$ref": "#/$defs/value"}
_SIMPLE: Final[dict[Any, dict[str, Any]]] = {
    str: {"type": "string"},
    int: {"anyOf": [{"type": "integer"}, {"$ref": "#/$defs/tagged"}]},
    float: {"anyOf": [{"type": "number"}, {"$ref": "#/$defs/tagged"}]},
    bool: {"type": "boolean"},
    bytes: {
        "type": "object",
        "properties": {"$": {"const": "bytes"}, "hex": {"type": "string"}},
        "required": ["$", "hex"],
    },
    type(None): {"type": "null"},
    object: _ANY_JSON,
    Any: _ANY_JSON,
    Point: {"$ref": "#/$defs/Point"},
}


def history_schema() -> dict[str, Any]:
    """The schema of one line of a history file: its begin line, an event, or its end line."""
    definitions: dict[str, Any] = {
        "value": {
            "description": "Any value: plain JSON, or tagged with $ where JSON cannot carry it."
        },
        "tagged": {
            "description": "A number that JSON cannot carry exactly.",
            "type": "object",
            "properties": {"$": {"enum": ["int", "float"]}, "text": {"type": "string"}},
            "required": ["$", "text"],
        },
        "Point": _object(Point, {}),
    }
    for name, cls in sorted(NOUNS.items()):
        definitions[name] = _object(cls, {"$": {"const": name}})
    lines = {"schedule.begin": _begin(), "schedule.end": _end()}
    lines |= {kind: _object(cls, _stamp(kind)) for kind, cls in KINDS.items()}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"A line of an admitone history, version {HISTORY_VERSION}",
        "type": "object",
        "required": ["v", "kind"],
        "oneOf": [{"$ref": f"#/$defs/line.{kind}"} for kind in lines],
        "$defs": {**{f"line.{kind}": body for kind, body in lines.items()}, **definitions},
    }


def as_text() -> str:
    """The schema as it is committed."""
    return json.dumps(history_schema(), indent=1) + "\n"


def _stamp(kind: str) -> dict[str, Any]:
    return {
        "v": {"const": HISTORY_VERSION},
        "schedule": {"type": "string"},
        "seq": {"type": "integer"},
        "t_ns": {"type": "integer"},
        "source": {"type": "string"},
        "kind": {"const": kind},
    }


def _object(cls: type, first: Mapping[str, Any]) -> dict[str, Any]:
    """An object with the fields of a dataclass, after ``first`` ones of its own."""
    # Json names itself, which no resolver of hints follows to the end: any JSON value will do.
    hints = get_type_hints(cls, localns={"Json": object})
    properties = dict(first)
    required = [name for name in first if name != "schedule"]
    for f in fields(cls):
        properties[f.name] = _type(hints[f.name])
        if f.default is MISSING and f.default_factory is MISSING:
            required.append(f.name)
    return {
        "type": "object",
        "description": (cls.__doc__ or "").strip().splitlines()[0],
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def _type(hint: Any) -> dict[str, Any]:
    if hint in _SIMPLE:
        return _SIMPLE[hint]
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Literal:
        return {"enum": list(parts)}
    if origin in (Union, UnionType):
        return {"anyOf": [_type(part) for part in parts]}
    if origin is tuple:
        return _array(parts)
    if origin is Mapping:
        return {"type": "object"}
    if isinstance(hint, type) and hint.__name__ in NOUNS:
        return {"$ref": f"#/$defs/{hint.__name__}"}
    raise TypeError(f"no schema for {hint!r}")


def _array(parts: tuple[Any, ...]) -> dict[str, Any]:
    """A tuple is written with its tag; a plain array of another language is read as well."""
    if len(parts) == 2 and parts[1] is Ellipsis:
        plain: dict[str, Any] = {"type": "array", "items": _type(parts[0])}
    else:
        items = [_type(part) for part in parts]
        plain = {
            "type": "array",
            "prefixItems": items,
            "minItems": len(items),
            "maxItems": len(items),
        }
    tagged = {
        "type": "object",
        "properties": {"$": {"const": "tuple"}, "items": plain},
        "required": ["$", "items"],
        "additionalProperties": False,
    }
    return {"anyOf": [plain, tagged]}


def _begin() -> dict[str, Any]:
    return {
        "type": "object",
        "description": "The first line: who was tried, under which plan.",
        "properties": {
            "v": {"const": HISTORY_VERSION},
            "kind": {"const": "schedule.begin"},
            "schedule": {"type": "string"},
            "target": {"$ref": "#/$defs/TargetName"},
            "declaration": {"$ref": "#/$defs/Declaration"},
            "operations": {"type": "array", "items": {"type": "string"}},
            "sink": {"enum": ["idempotent", "control"]},
            "reference": {"type": "boolean"},
        },
        "required": ["v", "kind", "schedule", "target", "declaration", "operations", "sink"],
        "additionalProperties": False,
    }


def _end() -> dict[str, Any]:
    return {
        "type": "object",
        "description": "The last line: how many events came before it, and their SHA-256.",
        "properties": {
            "v": {"const": HISTORY_VERSION},
            "kind": {"const": "schedule.end"},
            "schedule": {"type": "string"},
            "events": {"type": "integer", "minimum": 0},
            "digest": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
        },
        "required": ["v", "kind", "schedule", "events", "digest"],
        "additionalProperties": False,
    }


if __name__ == "__main__":
    sys.stdout.write(as_text())
