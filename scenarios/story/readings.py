"""Readings of ``inspect``, and which of them are evidence.

A reading that is not linearizable is right only at rest: no call open while it was made.
A call that went silent stays open until its node is dead, whatever its client believes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...chaos.events import Killed, Read
from ...targets.terms import SlotView, View
from ..history import History
from .calls import FOREVER, CallStory

_HOLDING = ("prepared", "committed", "in_doubt")


@dataclass(frozen=True, slots=True)
class Reading:
    """One reading that was made and may be trusted. ``began`` and ``at`` bound its instant."""

    read: Read
    view: View
    began: int
    at: int

    @property
    def began_ns(self) -> int:
        """When it began, on the monotonic clock."""
        return self.read.began_ns

    @property
    def moment(self) -> str:
        return self.read.moment

    @property
    def known(self) -> bool:
        return self.view.known

    def count(self, *states: str) -> int:
        """Units in any of these states."""
        if self.view.slots is not None:
            return sum(slot.state in states for slot in self.view.slots)
        if self.view.counts is not None:
            return sum(getattr(self.view.counts, state) for state in states)
        return 0

    @property
    def admitted(self) -> int:
        """Units that are taken: prepared, committed or in doubt."""
        return self.count(*_HOLDING)

    @property
    def total(self) -> int:
        """All units that the record ever made available, whatever became of them."""
        return self.count("issued", "revoked", *_HOLDING)

    @property
    def slots(self) -> dict[str, SlotView]:
        return {slot.slot: slot for slot in self.view.slots or ()}

    @property
    def says_units(self) -> bool:
        """It tells something about units, be it that there is no record at all."""
        view = self.view
        return not view.known or view.slots is not None or view.counts is not None


def is_admitted(slot: SlotView) -> bool:
    """Prepared, committed or in doubt: the unit is taken."""
    return slot.state in _HOLDING


def trusted_readings(history: History, calls: Mapping[int, CallStory]) -> list[Reading]:
    """The readings that were made and are right at some instant within their interval."""
    deaths: dict[str, int] = {}
    for line in history.lines:
        if isinstance(line.event, Killed):
            deaths.setdefault(line.event.node, line.stamp.seq)
    # a reading began with the first event that was recorded at its beginning or later
    found: list[Reading] = []
    for index, line in enumerate(history.lines):
        event = line.event
        if not isinstance(event, Read) or event.view is None or event.problem:
            continue
        began = index
        while began > 0 and history.lines[began - 1].stamp.t_ns >= event.began_ns:
            began -= 1
        reading = Reading(event, event.view, history.lines[began].stamp.seq, line.stamp.seq)
        if event.view.linearizable or _at_rest(reading, calls, deaths):
            found.append(reading)
    return found


def _at_rest(reading: Reading, calls: Mapping[int, CallStory], deaths: Mapping[str, int]) -> bool:
    """No call of a ledger ran at any instant of the reading."""
    return not any(
        call.began < reading.at and _really_ended(call, deaths) > reading.began
        for call in calls.values()
        if call.op != "effect"
    )


def _really_ended(call: CallStory, deaths: Mapping[str, int]) -> int:
    died = deaths.get(call.invoked.node)
    if died is None or died < call.began:
        died = FOREVER
    if call.replied is None or call.replied.why == "silent":
        return died
    return min(call.ended, died) if call.replied.why != "dead" else call.ended
