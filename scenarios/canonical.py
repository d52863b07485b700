"""The canonical form of a history: what two runs of one deterministic schedule have in common.

Identifiers that a ledger, the kernel or the sink chose at random (records, slots, keys, attempts,
handles, authenticators, numbers of requests) are renamed in order of their first appearance, so
that *which is the same as which* survives and *what it is called* does not. Times, process ids
and free text are dropped. The SHA-256 of the rest is equal for two runs that did the same.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any, Final

from ..chaos.codec import KINDS
from ..chaos.events import AuditRead, Event, Note
from ..targets.values import encode
from .history import History

_DROPPED: Final = frozenset(
    {
        # times and durations
        *("t_ns", "began_ns", "retry_after_s", "issued_s", "expires_s", "wall_s"),
        # the kernel's
        *("pid", "left"),
        # free text: paths, SQL with parameters, messages of libraries
        *("detail", "text", "problem"),
    }
)
_RENAMED: Final = frozenset(
    {
        *("record", "slot", "key", "attempt", "handle", "credential", "mac", "event", "action"),
        *("digest", "head", "label", "node", "number", "application"),
    }
)
_NUMBERED_BY_SINK: Final = {"SinkApplied", "SinkReplied"}  # their ``request`` is such a number
_KIND_OF: Final = {cls: kind for kind, cls in KINDS.items()}


def canonical_digest(history: History) -> str:
    """SHA-256 over the canonical history, in hex."""
    hasher = hashlib.sha256()
    for line in canonical_lines(history):
        hasher.update(line.encode("ascii") + b"\n")
    return hasher.hexdigest()


def canonical_lines(history: History) -> list[str]:
    """The canonical history, a line an event: what to diff when two digests differ."""
    renamer = _Renamer()
    lines = [json.dumps([history.header.schedule, history.header.sink])]
    lines += [renamer.line(event) for event in history if not isinstance(event, Note)]
    return lines


class _Renamer:
    """Gives every random identifier of one history its number of first appearance."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._labels: list[tuple[str, str]] = []
        self._first_count: int | None = None

    def line(self, event: Event) -> str:
        kind = type(event).__name__
        fields: dict[str, Any] = {"kind": _KIND_OF[type(event)]}
        for name in event.__slots__:
            value = self._json(getattr(event, name))
            if kind in _NUMBERED_BY_SINK and name == "request":
                fields[name] = self._name(["number", value])
            elif isinstance(event, AuditRead) and name == "view":
                fields[name] = self._audit(value)
            else:
                self._put(fields, name, value)
        return json.dumps(fields, sort_keys=True)

    def _json(self, value: object) -> Any:
        if hasattr(value, "__slots__") and type(value).__name__ == "Point":
            return str(value)
        return encode(value)

    def _put(self, fields: dict[str, Any], name: str, value: Any) -> None:
        if name in _DROPPED:
            return
        if name in _RENAMED and value is not None:
            fields[name] = self._name(
                ["number", value] if name in ("number", "application") else value
            )
            if name == "label":
                self._learn_label(value, fields[name])
        elif name == "slots":
            fields[name] = self._slots(value)
        elif name == "transitions" and value is not None:
            fields[name] = [self._transition(*_items(each)) for each in _items(value)]
        else:
            fields[name] = self._inner(value)

    def _name(self, value: Any) -> str:
        text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
        return self._names.setdefault(text, f"#{len(self._names)}")

    def _learn_label(self, label: Any, name: str) -> None:
        if isinstance(label, str) and label and (label, name) not in self._labels:
            self._labels.append((label, name))

    def _inner(self, value: Any) -> Any:
        if isinstance(value, dict):
            found: dict[str, Any] = {}
            for name, item in value.items():
                self._put(found, name, item)
            return found
        if isinstance(value, list):
            return [self._inner(item) for item in value]
        if isinstance(value, str):
            # the label is planted somewhere inside the arguments, maybe inside a longer text
            for label, name in self._labels:
                value = value.replace(label, name)
        return value

    def _slots(self, value: Any) -> Any:
        """Slots in an order that does not depend on their random names."""
        items = _items(value)
        if not isinstance(items, list):
            return self._inner(value)
        return [self._inner(item) for item in sorted(items, key=self._slot_order)]

    def _transition(self, record: Any, slot: Any, operation: Any) -> list[Any]:
        return [self._name(record), slot and self._name(slot), operation]

    def _slot_order(self, slot: Any) -> tuple[Any, ...]:
        named = self._names.get(str(slot.get("slot")))
        attempt = self._names.get(str(slot.get("attempt")), "")
        first = (0, int(named[1:])) if named else (1, 0)
        return (*first, str(slot.get("state")), str(slot.get("word")), attempt)

    def _audit(self, view: Any) -> Any:
        """A deployed store may hold records already: only the growth belongs to this schedule."""
        if self._first_count is None:
            self._first_count = view["count"]
        return self._inner({**view, "count": view["count"] - self._first_count})


def _items(value: Any) -> Any:
    """What a tuple on the wire holds; a list holds itself."""
    return value.get("items") if isinstance(value, dict) else value
