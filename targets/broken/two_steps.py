"""two-steps: a use is taken in one transaction and written down in the next.

Changed (over ``correct/plain``): the counter goes down by one statement that commits, and the use
is written by another. Whoever is killed in between leaves a unit that is taken and that nobody
has: no bound breaks, and the user is turned away with uses left.

Real class: ``stock -= 1; save()`` and then ``Order.create()``, two repositories without one
transaction around them, a counter in one store and the rows in another.
"""

from __future__ import annotations

from .. import contract as c
from ..correct.plain import PlainLedger, PlainTarget


class TakesThenWrites(PlainLedger):
    """Two statements, two commits."""

    def prepare(
        self, authorization: c.Authorization, call: c.Call, context: c.Context, attempt: str
    ) -> c.Admission | c.Refused:
        take = "UPDATE ticket SET taken = taken + 1 WHERE name = ? AND taken < uses"
        if self.db.execute(take, (authorization.record,)).rowcount == 0:
            return c.Refused("exhausted")
        use = "INSERT INTO use VALUES (NULL, ?, 0)"
        number = self.db.execute(use, (authorization.record,)).lastrowid
        return c.Admission(record=authorization.record, handle=number)


class TwoSteps(PlainTarget):
    """The target ``builtin:broken/two-steps``."""

    ledger_class = TakesThenWrites
    name = c.TargetName("admitone", "broken/two-steps", "1")
    convicted_by: tuple[str, ...] = ("AO802",)
    never_by: tuple[str, ...] = ("AO101", "AO102", "AO103", "AO104", "AO203", "AO302", "AO801")
