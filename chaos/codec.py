"""One event of a history as one line of JSON, and back.

``{"v": 1, "schedule": …, "seq": 7, "t_ns": …, "source": "n1", "kind": "call.invoke", …}``: the
stamp, the kind, then the event's own fields by their own names. A field that holds its default is
left out; nouns of the contract travel as tagged JSON (``targets.values``). Reading is strict: a
field that nobody knows might be evidence that nobody would judge, so it is refused.

The codec is on the way of every event of every schedule, hence the tables made once at import.
"""

from __future__ import annotations

import json
from dataclasses import MISSING, dataclass, fields
from types import UnionType
from typing import Any, Final, Literal, Union, get_args, get_origin, get_type_hints

from ..targets.values import ValueProblem, decode, encode
from . import events
from .events import HISTORY_VERSION, Event, Point, Recorded, Stamp

KINDS: Final[dict[str, type]] = {
    "approved": events.Approved,
    "call.invoke": events.Invoked,
    "call.reply": events.Replied,
    "point.armed": events.Armed,
    "point.stopped": events.Stopped,
    "point.released": events.Released,
    "point.killed": events.Killed,
    "fault.on": events.FaultOn,
    "fault.off": events.FaultOff,
    "sink.request": events.SinkRequested,
    "sink.applied": events.SinkApplied,
    "sink.replied": events.SinkReplied,
    "read": events.Read,
    "audit": events.AuditRead,
    "clock": events.Clock,
    "phase": events.Phase,
    "note": events.Note,
    "harm": events.Harm,
}
"""Every kind of line that holds an event, and the class that it stands for."""

STAMP_FIELDS: Final = ("v", "schedule", "seq", "t_ns", "source", "kind")

_NAME_OF: Final = {cls: kind for kind, cls in KINDS.items()}
_NOTHING: Final = object()


class LineProblem(ValueError):
    """A line is no event of this version. The message says what is wrong with it."""


@dataclass(frozen=True, slots=True)
class _Field:
    """How one field travels: as it is (``plain``), or as tagged JSON of the contract."""

    name: str
    hint: Any
    plain: bool
    default: object  # _NOTHING: it must be given


def _is_plain(hint: Any) -> bool:
    parts = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    scalars = (str, int, bool, type(None))
    return all(part in scalars or get_origin(part) is Literal for part in parts)


def _table(cls: type) -> tuple[_Field, ...]:
    hints = get_type_hints(cls)
    return tuple(
        _Field(
            f.name,
            hints[f.name],
            _is_plain(hints[f.name]),
            _NOTHING if f.default is MISSING else f.default,
        )
        for f in fields(cls)
    )


_TABLES: Final = {cls: _table(cls) for cls in (*KINDS.values(), Point)}
_FIELD_NAMES: Final = {cls: frozenset(f.name for f in table) for cls, table in _TABLES.items()}
_dumps: Final = json.JSONEncoder(
    separators=(",", ":"), allow_nan=False, check_circular=False
).encode


def to_line(recorded: Recorded, schedule: str = "") -> str:
    """The line of one recorded event, without its newline."""
    stamp, event = recorded.stamp, recorded.event
    line: dict[str, Any] = {"v": HISTORY_VERSION}
    if schedule:
        line["schedule"] = schedule
    line["seq"] = stamp.seq
    line["t_ns"] = stamp.t_ns
    line["source"] = stamp.source
    line["kind"] = _NAME_OF[type(event)]
    _put_fields(event, line)
    return _dumps(line)


def _put_fields(event: object, line: dict[str, Any]) -> None:
    for field in _TABLES[type(event)]:
        value = getattr(event, field.name)
        if value is field.default or (field.plain and value == field.default):
            continue
        if field.plain:
            line[field.name] = value
        elif type(value) is Point:
            point: dict[str, Any] = {}
            line[field.name] = point
            _put_fields(value, point)
        else:
            line[field.name] = encode(value)


def from_line(text: str) -> Recorded:
    """The event of one line. Raises ``LineProblem`` for anything that is none."""
    return from_object(parse(text))


def parse(text: str) -> dict[str, Any]:
    """The JSON object of one line of this version. Raises ``LineProblem``."""
    try:
        line = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as problem:
        raise LineProblem(f"it is no JSON: {problem}") from None
    if not isinstance(line, dict):
        raise LineProblem("it is no JSON object")
    version = line.get("v")
    if type(version) is not int or version != HISTORY_VERSION:
        raise LineProblem(f"its version is {version!r}, this program reads {HISTORY_VERSION}")
    return line


def from_object(line: dict[str, Any]) -> Recorded:
    """The event of a parsed line. Raises ``LineProblem``."""
    kind = line.get("kind")
    cls = KINDS.get(kind) if isinstance(kind, str) else None
    if cls is None:
        raise LineProblem(f"its kind is {kind!r}; known are {', '.join(sorted(KINDS))}")
    seq, t_ns = _stamped(line, "seq", int), _stamped(line, "t_ns", int)
    stamp = Stamp(seq, t_ns, _stamped(line, "source", str))
    try:
        event: Event = _take(cls, line, STAMP_FIELDS)
    except ValueProblem as problem:
        raise LineProblem(f"{kind}: {problem}") from None
    return Recorded(stamp, event)


def _take(cls: type, line: dict[str, Any], also: tuple[str, ...] = ()) -> Any:
    known = _FIELD_NAMES[cls]
    unknown = [name for name in line if name not in known and name not in also]
    if unknown:
        raise LineProblem(f"{cls.__name__} has no field {unknown[0]!r}")
    values: list[object] = []
    for field in _TABLES[cls]:
        value = line.get(field.name, _NOTHING)
        if value is _NOTHING:
            if field.default is _NOTHING:
                raise LineProblem(f"{cls.__name__} needs the field {field.name!r}")
            value = field.default
        elif field.hint is Point:
            if not isinstance(value, dict):
                raise LineProblem(f"{cls.__name__}.{field.name} is no point: {value!r:.80}")
            value = _take(Point, value)
        else:
            if not field.plain:
                value = decode(value)
            # JSON knows no floats: Go and JavaScript write 0.0 as 0, as the schema allows them
            if field.hint is float and type(value) is int and abs(value) < 2**53:
                value = float(value)
            if not _fits(value, field.hint):
                raise LineProblem(f"{cls.__name__}.{field.name} cannot be {value!r:.80}")
        values.append(value)
    return cls(*values)


def _fits(value: object, hint: Any) -> bool:
    if hint is object:
        return True
    origin = get_origin(hint)
    if origin is Literal:
        return type(value) is str and value in get_args(hint)
    if origin in (Union, UnionType):
        return any(_fits(value, part) for part in get_args(hint))
    return type(value) is hint


def _stamped(line: dict[str, Any], name: str, kind: type) -> Any:
    value = line.get(name)
    if type(value) is not kind:
        raise LineProblem(f"its {name} is {value!r:.80}, not of type {kind.__name__}")
    return value


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON; such a number travels tagged")
