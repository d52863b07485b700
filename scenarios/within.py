"""Points within a transaction, or on the way to a file: where an error leaves the rest undone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ..chaos.events import Point
from .placement import Survey

_ENDS: Final = ("COMMIT", "END", "ROLLBACK", "ABORT")
_MARKS: Final = ("SAVEPOINT", "RELEASE")


def inner_statements(survey: Survey, op: str) -> Iterator[Point]:
    """Before each statement that an operation makes inside a transaction of its own, but not
    before those that end it: where an error leaves the rest of it undone."""
    inside = False
    for step in survey.steps.get(op, ()):
        words = step.text.upper()
        if step.kind == "begin":
            inside = True
        elif step.kind != "statement" or words.startswith(_MARKS):
            continue
        elif words.startswith(_ENDS):
            inside = inside and words.startswith("ROLLBACK TO")
        elif inside and step.side == "before":
            yield Point(op, "statement", "before", step.nth)


_BYTES_OUT: Final = ("flush ", "write ")


def failing_changes(survey: Survey, op: str) -> Iterator[Point]:
    """Where a disk that is full or fails is met: before each change of rows inside a transaction,
    and wherever bytes go out to a file, which its close may do."""
    inner = set(inner_changes(survey, op))
    for step in survey.steps.get(op, ()):
        point = Point(op, step.kind, "before", step.nth)
        closes = step.kind == "write" and step.text.startswith("close ")
        goes_out = step.kind == "statement" and step.text.startswith(_BYTES_OUT)
        if step.side == "before" and (closes or goes_out or point in inner):
            yield point


_CHANGING: Final = ("INSERT", "UPDATE", "DELETE", "REPLACE")


def inner_changes(survey: Survey, op: str) -> Iterator[Point]:
    """Those of the inner statements that change rows."""
    words = {(s.kind, s.side, s.nth): s.text.lstrip().upper() for s in survey.steps.get(op, ())}
    for point in inner_statements(survey, op):
        if words[point.kind, point.side, point.nth].startswith(_CHANGING):
            yield point
