"""MP6-stored: the attempt is stored with its slot, and never looked for.

Changed: Prepare takes the first free slot without asking whether this attempt has one. As in
``MP6`` a retry after a lost reply costs a second slot; here both carry the name of the attempt, so
the ledger's own rows show that one request holds two units.

Real class: an ``Idempotency-Key`` that is written to a column without a unique index and read by
nobody but the person who looks for the reason of two payments.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import bindparam, select

from ..caplease.ledger import CapLease
from ..caplease.records import Record
from ..caplease.schema import ISSUED, slot
from ..caplease.store import Found
from ..caplease.target import CapLeaseSqlite
from ..terms import TargetName

_FIRST_FREE: Final = (
    select(slot.c.j, slot.c.state, slot.c.attempt, slot.c.k, slot.c.receipt)
    .where(slot.c.nu == bindparam("root"), slot.c.holder == bindparam("nu"))
    .where(slot.c.state == ISSUED)
    .order_by(slot.c.j)
    .limit(1)
)


class NeverLooks(CapLease):
    """Written down, and forgotten."""

    def _choose(self, record: Record, attempt: str) -> Found | None:
        return self.store.one(_FIRST_FREE, root=record.root, nu=record.nu)


class MP6Stored(CapLeaseSqlite):
    """The target ``builtin:broken/MP6-stored``."""

    name = TargetName("admitone", "broken/MP6-stored", "1")
    convicted_by: tuple[str, ...] = ("AO106", "AO303", "AO803")
    never_by: tuple[str, ...] = (
        "AO101",
        "AO102",
        "AO103",
        "AO104",
        "AO203",
        "AO702",
        "AO704",
        "AO801",
    )

    def ledger_class(self) -> type[CapLease]:
        return NeverLooks
