"""The one writer of a schedule's history: numbers every event and stamps it with the oracle clock.

There is one recorder per schedule, in the harness, so the order of its lines is the order in
which the harness learned of things; what a node did between two lines is an interval, not an
instant.
"""

from __future__ import annotations

import time

from .events import Event, Recorded, Stamp


class Recorder:
    """Collects the lines of one history."""

    __slots__ = ("lines",)

    def __init__(self) -> None:
        self.lines: list[Recorded] = []

    def record(self, source: str, event: Event) -> int:
        """Append one event; its sequence number, from 1."""
        seq = len(self.lines) + 1
        self.lines.append(Recorded(Stamp(seq, time.monotonic_ns(), source), event))
        return seq

    @property
    def now_ns(self) -> int:
        """The oracle clock, monotonic nanoseconds."""
        return time.monotonic_ns()
