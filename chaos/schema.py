"""The published JSON Schema of a history, generated from the dataclasses so that it cannot drift.

``history_schema()`` builds it; ``schemas/history-v1.json`` is the committed copy, and a test
compares the two. It describes every kind of line of a history file, one file, one schema: what a
program in another language must write to be judged by ``admitone judge``. To write the copy anew::

    python -m admitone.chaos.schema > chaos/schemas/history-v1.json
"""

from __future__ import annotations

import json
import sys
from typing import Any, Final

from ..targets.noun_schema import Schema, definitions, object_schema
from .codec import KINDS
from .events import HISTORY_VERSION, Point

_OWN: Final[dict[Any, Schema]] = {Point: {"$ref": "#/$defs/Point"}}


def history_schema() -> Schema:
    """The schema of one line of a history file: its begin line, an event, or its end line."""
    lines = {"schedule.begin": _begin(), "schedule.end": _end()}
    for kind, cls in KINDS.items():
        stamp = _stamp(kind)
        needed = [name for name in stamp if name != "schedule"]
        lines[kind] = object_schema(cls, stamp, needed, own=_OWN)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"A line of an admitone history, version {HISTORY_VERSION}",
        "type": "object",
        "required": ["v", "kind"],
        "oneOf": [{"$ref": f"#/$defs/line.{kind}"} for kind in lines],
        "$defs": {
            **{f"line.{kind}": body for kind, body in lines.items()},
            "Point": object_schema(Point, {}),
            **definitions(),
        },
    }


def as_text() -> str:
    """The schema as it is committed."""
    return json.dumps(history_schema(), indent=1) + "\n"


def _stamp(kind: str) -> Schema:
    return {
        "v": {"const": HISTORY_VERSION},
        "schedule": {"type": "string"},
        "seq": {"type": "integer"},
        "t_ns": {"type": "integer"},
        "source": {"type": "string"},
        "kind": {"const": kind},
    }


def _begin() -> Schema:
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
            "lease_s": {"type": "number"},
        },
        "required": ["v", "kind", "schedule", "target", "declaration", "operations", "sink"],
        "additionalProperties": False,
    }


def _end() -> Schema:
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
