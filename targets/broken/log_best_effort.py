"""log-best-effort: a line that the disk has no room for is passed over, and answered all the same.

Changed: an error of the write to the log is caught where it is raised. The sync behind it is not,
so whoever tries only that finds the ledger honest; but of a line that was never written there is
nothing to sync, and it succeeds.

Real class: a logging handler, an event store or a write-ahead file behind ``except OSError``, with
a warning that nobody reads; a full disk under a service that goes on saying yes.
"""

from __future__ import annotations

from contextlib import suppress

from .. import contract as c
from ..correct.at_most_once import AtMostOnceTarget, OnceLog, Turn


class Tries(Turn):
    """What cannot be written is left out."""

    def append(self, *event: object) -> None:
        with suppress(OSError):
            super().append(*event)


class BestEffortLog(OnceLog):
    """The same library."""

    turn_class = Tries


class LogBestEffort(AtMostOnceTarget):
    """The target ``builtin:broken/log-best-effort``."""

    name = c.TargetName("admitone", "broken/log-best-effort", "1")
    convicted_by: tuple[str, ...] = ("AO701", "AO802")
    never_by: tuple[str, ...] = ("AO101", "AO203", "AO801", "AO806")
    log_class = BestEffortLog
