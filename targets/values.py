"""Tagged JSON: how the contract's nouns, and values that JSON cannot carry, travel.

A noun is ``{"$": "Admission", "record": …}`` with its own field names. A value that JSON cannot
carry keeps its kind: ``{"$": "int", "text": "1180591620717411303424"}``, ``{"$": "float",
"text": "nan"}``, ``{"$": "bytes", "hex": …}``, ``{"$": "tuple", "items": […]}``. A mapping that
itself has the key ``$`` is wrapped in ``{"$": "map", "items": [[k, v], …]}``. Integers beyond
2**53 - 1 are tagged because most languages would round them silently (RFC 7493).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, Final, cast

from . import declaration, replies, terms

_EXACT: Final = 2**53 - 1

NOUNS: Final[dict[str, type]] = {
    cls.__name__: cls
    for module in (terms, replies, declaration)
    for cls in vars(module).values()
    if isinstance(cls, type) and is_dataclass(cls) and cls.__module__ == module.__name__
}
_FIELDS: Final = {
    # name, and whether it may be left out when it is None
    cls: tuple((f.name, f.default is not MISSING) for f in fields(cls))
    for cls in NOUNS.values()
}
_AS_IT_IS: Final = frozenset({str, bool, type(None)})
_SCALARS: Final = frozenset({str, bool, type(None), int, float})
_TUPLES: Final = {  # other languages send plain arrays where we have tuples
    cls: frozenset(f.name for f in fields(cls) if str(f.type).startswith("tuple"))
    for cls in NOUNS.values()
}


class ValueProblem(ValueError):
    """A message carries something that is not tagged JSON of this contract."""


def encode(value: object) -> terms.Json:
    """Turn a noun, or any value a call's arguments may hold, into tagged JSON.

    Raises ``ValueProblem`` for a type that cannot travel (an object kept in memory, say).
    """
    kind = type(value)
    if kind in _AS_IT_IS:
        return cast(terms.Json, value)
    if kind is int:
        number = cast(int, value)
        return number if -_EXACT <= number <= _EXACT else {"$": "int", "text": str(number)}
    names = _FIELDS.get(kind)
    if names is not None:
        noun: dict[str, terms.Json] = {"$": kind.__name__}
        for name, optional in names:
            item = getattr(value, name)
            if item is not None or not optional:  # most are texts: each call spared is felt
                noun[name] = item if type(item) is str else encode(item)
        return noun
    if kind is list:
        return [encode(item) for item in cast("list[object]", value)]
    if kind is tuple:
        return {"$": "tuple", "items": [encode(item) for item in cast("tuple[object]", value)]}
    if kind is float:
        real = cast(float, value)
        return real if math.isfinite(real) else {"$": "float", "text": repr(real)}
    if isinstance(value, Mapping):
        return _encode_mapping(value)
    if isinstance(value, bytes):
        return {"$": "bytes", "hex": value.hex()}
    raise ValueProblem(f"a {kind.__name__} cannot travel: {_shown(value)}")


def decode(value: terms.Json) -> Any:
    """The inverse of ``encode``. Raises ``ValueProblem`` on anything malformed."""
    if type(value) in _SCALARS:
        return value
    if isinstance(value, list):
        return [decode(item) for item in value]
    if not isinstance(value, dict):
        return value
    tag = value.get("$")
    if tag is None:
        return _members(value)
    if not isinstance(tag, str):
        raise ValueProblem(f"a tag must be a text: {_shown(tag)}")
    cls = NOUNS.get(tag)
    try:
        if cls is not None:
            return _decode_noun(cls, value)
        return _decode_tagged(tag, value)
    except (TypeError, KeyError, ValueError) as problem:
        raise ValueProblem(f"malformed {tag}: {problem}: {_shown(value)}") from None


def _decode_noun(cls: type, value: dict[str, Any]) -> object:
    found = _members(value)
    del found["$"]
    for name in _TUPLES[cls]:
        if type(found.get(name)) is list:
            found[name] = tuple(found[name])
    return cls(**found)


def _members(value: dict[str, Any]) -> dict[str, Any]:
    """Its members decoded; most are scalars, and each call spared is felt."""
    return {name: item if type(item) in _SCALARS else decode(item) for name, item in value.items()}


def _encode_mapping(value: Mapping[Any, Any]) -> terms.Json:
    if "$" in value or not all(type(name) is str for name in value):
        return {"$": "map", "items": [[encode(k), encode(v)] for k, v in value.items()]}
    return {name: item if type(item) is str else encode(item) for name, item in value.items()}


def _decode_tagged(tag: str, value: dict[str, Any]) -> object:
    if tag == "tuple":
        return tuple(decode(item) for item in value["items"])
    if tag == "int":
        return int(value["text"])
    if tag == "float":
        return float(value["text"])
    if tag == "bytes":
        return bytes.fromhex(value["hex"])
    if tag == "map":
        return {decode(k): decode(v) for k, v in value["items"]}
    raise ValueProblem(f"unknown tag {tag!r}")


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 120 else text[:117] + "..."
