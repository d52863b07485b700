"""MD1, child-budget-not-reserved: a child uses whatever is free, and so does its parent.

Changed: Delegate makes the child and leaves all slots with the parent; either of them may take any
free slot of the root. There are never more admissions than b, so that every total is right. But the
parent uses up what its child was promised, and several children are promised the same units.

Real class: sub-accounts and API keys with a limit of their own that nobody takes from the account.
"""

from __future__ import annotations

from ..caplease.ledger import CapLease
from ..caplease.prepare import CHOOSE, TAKE
from ..caplease.records import Record
from ..caplease.schema import ISSUED, slot
from ..caplease.store import Found
from ..caplease.target import CapLeaseSqlite
from ..terms import TargetName


class NothingReserved(CapLease):
    """One heap for the whole family."""

    take = TAKE.where(slot.c.state == ISSUED)

    def _reserve(self, parent: Record, child: Record, numbers: list[int]) -> None:
        """They stay where they are."""

    def _choose(self, record: Record, attempt: str) -> Found | None:
        return self.store.one(CHOOSE, root=record.root, nu=record.root, attempt=attempt)


class MD1(CapLeaseSqlite):
    """The target ``builtin:broken/MD1``."""

    name = TargetName("admitone", "broken/MD1", "1")
    convicted_by: tuple[str, ...] = ("AO502",)
    never_by: tuple[str, ...] = (
        "AO101",
        "AO102",
        "AO103",
        "AO104",
        "AO201",
        "AO203",
        "AO304",
        "AO501",
        "AO704",
        "AO801",
    )

    def ledger_class(self) -> type[CapLease]:
        return NothingReserved
