"""The published JSON Schema of the wire, generated from ``wire.py`` and the contract's methods.

``schemas/wire-v1.json`` is the committed copy, and a test compares the two. Beside the whole it
defines ``from_harness`` and ``from_node``, one definition a message, and ``reply.OP`` for what
may answer each request, which a line alone cannot tell. To write the copy anew::

    python -m admitone.targets.wire_schema > targets/schemas/wire-v1.json
"""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Iterable
from typing import Any, Final

from . import wire
from .contract import OPERATIONS, Env, GuardedLedger, SplitLedger
from .noun_schema import Schema, definitions, hints_of, object_schema, type_schema
from .replies import NotGranted
from .terms import Deployment, Receipt, View

_TEXT: Final[Schema] = {"type": "string"}
_SIDE: Final[Schema] = {"enum": ["before", "after"]}
_COUNT: Final[Schema] = {"type": "integer", "minimum": 0}
_NUMBER: Final[Schema] = {"type": "integer", "minimum": 1}
_ANY: Final[Schema] = {"$ref": "#/$defs/value"}


def _array(items: list[Schema]) -> Schema:
    exactly: Schema = {"type": "array", "minItems": len(items), "maxItems": len(items)}
    return exactly | {"prefixItems": items} if items else exactly


_OWN: Final[dict[Any, Schema]] = {  # the protocol's own numbers and places carry no tags
    int: _COUNT,
    float: {"type": "number"},
    wire.Spot: _array([_TEXT, _SIDE, _NUMBER]),
    tuple[wire.Arming, ...]: {
        "type": "array",
        "items": _array([_TEXT, _TEXT, _SIDE, _NUMBER]),
    },
    tuple[object, ...]: {"type": "array", "items": _ANY},
    wire.Wanted: object_schema(wire.Wanted, {}),
}


def wire_schema() -> Schema:
    """The schema of one line, in either direction."""
    from_harness = {f"message.{name}": _request(cls) for name, cls in wire.REQUESTS.items()}
    from_harness |= {f"message.call.{op}": _call(op) for op in wire.CALLS}
    from_harness |= {f"message.answer.{name}": _message(cls) for name, cls in wire.ANSWERS.items()}
    receipt = from_harness["message.answer.receipt"]["properties"]
    receipt["receipt"] = type_schema(Receipt | None)
    from_node = {f"message.{name}": _message(cls) for name, cls in wire.QUESTIONS.items()}
    from_node["message.reply"] = _reply({"anyOf": _every_answer()})
    from_node["message.unclassified"] = _message(wire.Unclassified)
    of_one = {f"reply.{name}": _reply(answer) for name, answer in _answers().items()}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"A line between admitone and a node, version {wire.WIRE_VERSION}",
        "oneOf": [{"$ref": "#/$defs/from_harness"}, {"$ref": "#/$defs/from_node"}],
        "$defs": {
            "from_harness": _one_of(from_harness),
            "from_node": _one_of(from_node),
            **from_harness,
            **from_node,
            **of_one,
            **definitions(),
        },
    }


def as_text() -> str:
    """The schema as it is committed."""
    return json.dumps(wire_schema(), indent=1) + "\n"


def _one_of(messages: Iterable[str]) -> Schema:
    return {"type": "object", "oneOf": [{"$ref": f"#/$defs/{name}"} for name in messages]}


def _message(cls: type) -> Schema:
    return object_schema(cls, {}, own=_OWN)


def _request(cls: Any) -> Schema:
    return object_schema(cls, {"do": {"const": cls.DO}}, ("do",), own=_OWN)


def _call(op: str) -> Schema:
    """The request for one operation, with the arguments of its method."""
    message = _request(wire.Invoke)
    hints, names = _method(op)
    message["description"] = f"Call {op}({', '.join(names)})."
    message["properties"]["op"] = {"const": op}
    message["properties"]["args"] = _array([type_schema(hints[name]) for name in names])
    return message


def _method(op: str) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Type hints of the method behind a call, and the names of what it takes."""
    owner: Any = Env if op == "effect" else GuardedLedger if op == "execute" else SplitLedger
    method = getattr(owner, op)
    return hints_of(method), tuple(inspect.signature(method).parameters)[1:]


def _reply(value: Schema) -> Schema:
    message = _message(wire.Reply)
    message["properties"]["value"] = value
    message["properties"]["raised"] = _TEXT
    return message


def _answers() -> dict[str, Schema]:
    """What the reply to each request may carry."""
    found: dict[str, Schema] = {
        "deploy": type_schema(Deployment),
        "open": {"type": "array", "items": {"enum": list(OPERATIONS)}},
        "inspect": type_schema(View | None),
        "work": type_schema(NotGranted | None),  # what ``classify`` says of what it raised
        # whatever a guarded ledger answers counts as done, and does not travel
        "execute": type_schema(NotGranted | None),
        "effect": type_schema(Receipt | NotGranted),
    }
    for op in OPERATIONS:
        if op not in found:
            found[op] = type_schema(_method(op)[0]["return"])
    return found


def _every_answer() -> list[Schema]:
    """All of them, each once."""
    found: list[Schema] = []
    for answer in _answers().values():
        found += [part for part in answer.get("anyOf", [answer]) if part not in found]
    return found


if __name__ == "__main__":
    sys.stdout.write(as_text())
