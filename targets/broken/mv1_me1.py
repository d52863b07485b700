"""MV1 with ME1: a reaper frees what is slow, and each hand-out of a slot has another sink key.

Changed: both mutants at once. Alone, MV1 breaks the admission bound and the sink hides the second
effect; alone, ME1 doubles the effect of one admission. Together the slow holder and the one that
was given its slot send two keys, and the user pays twice.

Real class: a queue with a visibility time-out whose consumers make a fresh idempotency key for each
delivery.
"""

from __future__ import annotations

from ..caplease.ledger import CapLease
from ..terms import TargetName
from .me1 import KeyPerAttempt
from .mv1 import MV1, Timed


class TimedKeyPerAttempt(Timed, KeyPerAttempt):
    """Both changes."""


class MV1xME1(MV1):
    """The target ``builtin:broken/MV1-ME1``."""

    name = TargetName("admitone", "broken/MV1-ME1", "1")
    convicted_by = ("AO103", "AO104", "AO106", "AO201")
    never_by = ("AO101", "AO203", "AO304", "AO704", "AO801")

    def ledger_class(self) -> type[CapLease]:
        return TimedKeyPerAttempt
