"""JSON Schemas of the contract's nouns, generated from their dataclasses so that they cannot drift.

Whatever is published (the wire, a history) is described in terms of the same nouns, as tagged
JSON (``values.py``). A published schema holds ``definitions()`` and refers to them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from types import UnionType
from typing import Any, Final, Literal, TypeAlias, Union, get_args, get_origin, get_type_hints

from .values import NOUNS

Schema: TypeAlias = dict[str, Any]

_VALUE: Final[Schema] = {"$ref": "#/$defs/value"}
_SIMPLE: Final[dict[Any, Schema]] = {
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
    object: _VALUE,
    Any: _VALUE,
}


def definitions() -> Schema:
    """``$defs`` of every noun, and of the values that travel inside them."""
    found: Schema = {
        "value": {
            "description": "Any value: plain JSON, or tagged with $ where JSON cannot carry it."
        },
        "tagged": {
            "description": "A number that JSON cannot carry exactly.",
            "type": "object",
            "properties": {"$": {"enum": ["int", "float"]}, "text": {"type": "string"}},
            "required": ["$", "text"],
        },
    }
    for name, cls in sorted(NOUNS.items()):
        found[name] = object_schema(cls, {"$": {"const": name}}, ("$",))
    return found


def object_schema(
    cls: type,
    first: Mapping[str, Any],
    required: Sequence[str] = (),
    *,
    own: Mapping[Any, Schema] | None = None,
) -> Schema:
    """An object with the fields of a dataclass, after the properties ``first``.

    ``required``: which of ``first`` must be there. ``own``: types that this schema describes in
    a way of its own. A trailing underscore of a field's name is Python's need, and dropped.
    """
    hints = hints_of(cls)
    properties = dict(first)
    needed = list(required)
    for f in fields(cls):
        name = f.name.removesuffix("_")
        properties[name] = type_schema(hints[f.name], own)
        if f.default is MISSING and f.default_factory is MISSING:
            needed.append(name)
    return {
        "type": "object",
        "description": " ".join((cls.__doc__ or "").split("\n\n")[0].split()),
        "properties": properties,
        "required": needed,
        "additionalProperties": False,
    }


def hints_of(described: Any) -> dict[str, Any]:
    """Type hints of a dataclass or function. ``Json`` names itself, which no resolver follows to
    the end: any JSON value will do."""
    return get_type_hints(described, localns={"Json": object})


def type_schema(hint: Any, own: Mapping[Any, Schema] | None = None) -> Schema:
    """The schema of one type. Raises ``TypeError`` for a type that cannot travel."""
    if own and hint in own:
        return own[hint]
    if hint in _SIMPLE:
        return _SIMPLE[hint]
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Literal:
        return {"const": parts[0]} if len(parts) == 1 else {"enum": list(parts)}
    if origin in (Union, UnionType):
        return {"anyOf": [type_schema(part, own) for part in parts]}
    if origin is tuple:
        return _array(parts, own)
    if origin is Sequence:
        return {"type": "array", "items": type_schema(parts[0], own)}
    if origin is Mapping:
        return {"type": "object"}
    if isinstance(hint, type) and hint.__name__ in NOUNS:
        return {"$ref": f"#/$defs/{hint.__name__}"}
    raise TypeError(f"no schema for {hint!r}")


def _array(parts: tuple[Any, ...], own: Mapping[Any, Schema] | None) -> Schema:
    """A tuple is written with its tag; a plain array of another language is read as well."""
    if len(parts) == 2 and parts[1] is Ellipsis:
        plain: Schema = {"type": "array", "items": type_schema(parts[0], own)}
    else:
        items = [type_schema(part, own) for part in parts]
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
