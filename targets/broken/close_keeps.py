"""close-keeps: a closed child takes its unused units with it.

Changed: Close ends the child and moves no slot back to its parent, though the ledger says that what
a child did not use returns. No bound breaks; the parent is turned away with units left.

Real class: reservations that are cancelled without giving the stock back, seats of a deleted team.
"""

from __future__ import annotations

from ..caplease.chain import Entry
from ..caplease.denials import answering, refused
from ..caplease.ledger import CapLease
from ..caplease.target import CapLeaseSqlite
from ..replies import Done
from ..terms import Authorization, TargetName


class GivesNothingBack(CapLease):
    """The end of the child, and of what it had."""

    @answering
    def close(self, authorization: Authorization) -> Done:
        nu = self.credential.read(authorization)
        with self.store.writing():
            child = self._lock(nu)
            if not child.parent:
                raise refused("invalid", "only a child can be closed")
            if self._flag(self._family(child)):
                self._append(Entry(child.nu, None, "close"))
        return Done()


class CloseKeeps(CapLeaseSqlite):
    """The target ``builtin:broken/close-keeps``."""

    name = TargetName("admitone", "broken/close-keeps", "1")
    convicted_by: tuple[str, ...] = ("AO504",)
    never_by: tuple[str, ...] = (
        "AO101",
        "AO102",
        "AO103",
        "AO104",
        "AO106",
        "AO201",
        "AO203",
        "AO304",
        "AO501",
        "AO502",
        "AO503",
        "AO704",
        "AO801",
    )

    def ledger_class(self) -> type[CapLease]:
        return GivesNothingBack
