"""done-at-once: a use is written down as done when it is handed out.

Changed (over ``correct/plain``): Prepare marks the use as done at once, "because it is about to
be". Whoever dies before the effect is sent leaves a use that counts as carried out, and never was.

Real class: a message that is acknowledged before it is worked on (``auto_ack``), ``processed_at``
written first so that nobody else picks the row up.
"""

from __future__ import annotations

from .. import contract as c
from ..correct.plain import PlainLedger, PlainTarget


class DoneAtOnce(PlainLedger):
    """Done, and then to be done."""

    def prepare(
        self, authorization: c.Authorization, call: c.Call, context: c.Context, attempt: str
    ) -> c.Admission | c.Refused:
        taken = super().prepare(authorization, call, context, attempt)
        if isinstance(taken, c.Admission):
            self.db.execute("UPDATE use SET done = 1 WHERE number = ?", (taken.handle,))
        return taken


class DoneAtOnceTarget(PlainTarget):
    """The target ``builtin:broken/done-at-once``."""

    ledger_class = DoneAtOnce
    name = c.TargetName("admitone", "broken/done-at-once", "1")
    convicted_by: tuple[str, ...] = ("AO302",)
    never_by: tuple[str, ...] = ("AO101", "AO102", "AO103", "AO104", "AO203", "AO704", "AO801")
