"""lock-left: whoever is killed leaves its lock behind.

Changed (over ``correct/plain``): Prepare is guarded by a file of its own, which is made to take the
lock and removed to give it back. Who dies in between cannot remove it, and from then on every
answer is "busy, try again": a refusal that never ends, and never says so.

Real class: ``.lock`` and ``.pid`` files, ``SETNX`` without an expiry, a row ``locked = true``.
"""

from __future__ import annotations

from pathlib import Path

from .. import contract as c
from ..correct.plain import PlainLedger, PlainTarget


class Guarded(PlainLedger):
    """The lock is a file that is there."""

    def __init__(self, path: Path, wait_s: float) -> None:
        super().__init__(path, wait_s)
        self._lock = path.with_suffix(".lock")

    def prepare(
        self, authorization: c.Authorization, call: c.Call, context: c.Context, attempt: str
    ) -> c.Admission | c.Refused:
        self._lock.touch(exist_ok=False)
        try:
            return super().prepare(authorization, call, context, attempt)
        finally:
            self._lock.unlink()


class LockLeft(PlainTarget):
    """The target ``builtin:broken/lock-left``."""

    ledger_class = Guarded
    name = c.TargetName("admitone", "broken/lock-left", "1")
    convicted_by: tuple[str, ...] = ("AO804",)
    never_by: tuple[str, ...] = ("AO101", "AO102", "AO103", "AO104", "AO203", "AO302", "AO801")

    def classify(self, exc: BaseException) -> c.Busy | None:
        if isinstance(exc, FileExistsError):
            return c.Busy("contention", detail="somebody else has the lock")
        return super().classify(exc)
