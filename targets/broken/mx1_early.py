"""MX1-early, expiry-before-lock: t_e is compared with the time at which the caller asked.

Changed: the clock is read before the transaction begins, and Prepare may then wait for the lock of
another one for as long as it likes. Whoever asked in time and got the lock too late is admitted.
Nothing shows while nobody waits.

Real class: ``now = time.time()`` at the top of the handler; on PostgreSQL ``now()``, which is the
time at which the transaction began, and a deadline in a WHERE that is not looked at again.
"""

from __future__ import annotations

from ..caplease.ledger import CapLease
from ..caplease.prepare import Request
from ..caplease.target import CapLeaseSqlite
from ..replies import Replayed
from ..terms import Admission, TargetName


class EarlyClock(CapLease):
    """Look at the clock, then wait."""

    _asked_s = 0.0

    def _admit(self, request: Request) -> Admission | Replayed:
        self._asked_s = self.env.now()
        return super()._admit(request)

    def _now(self) -> float:
        return self._asked_s or self.env.now()


class MX1Early(CapLeaseSqlite):
    """The target ``builtin:broken/MX1-early``."""

    name = TargetName("admitone", "broken/MX1-early", "1")
    convicted_by: tuple[str, ...] = ("AO402",)
    never_by: tuple[str, ...] = ("AO101", "AO102", "AO103", "AO104", "AO201", "AO203", "AO801")

    def ledger_class(self) -> type[CapLease]:
        return EarlyClock
