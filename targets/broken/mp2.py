"""MP2, claim-by-subquery: one statement takes the first free slot, without "if still free".

Changed: Prepare locks nothing and takes its slot by ``UPDATE ... WHERE j = (SELECT ... LIMIT 1)``.
Who waits for another's update of that slot goes on, at READ COMMITTED, with the slot that its
subquery had found before the wait: one slot is handed out twice. With as many slots as callers no
total shows it. On SQLite the statement is right.

Real class: job queues on PostgreSQL whose claim has neither ``FOR UPDATE SKIP LOCKED`` in the
subquery nor the state in the outer WHERE.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from sqlalchemy import bindparam, null, select, update

from ..caplease.denials import lost_race
from ..caplease.ledger import CapLease
from ..caplease.prepare import TAKE, Free, Request
from ..caplease.records import Record
from ..caplease.schema import ISSUED, PREPARED, slot
from ..caplease.target_postgres import CapLeasePostgres
from ..terms import Admission, TargetName

_free = slot.alias("free")
_FIRST_FREE: Final = (
    select(_free.c.j)
    .where(_free.c.nu == bindparam("root"), _free.c.holder == bindparam("giver"))
    .where(_free.c.state == ISSUED)
    .order_by(_free.c.j)
    .limit(1)
    .scalar_subquery()
)
_CLAIM: Final = (
    update(slot)
    .where(slot.c.nu == bindparam("root"), slot.c.j == _FIRST_FREE)
    .values(state=PREPARED, attempt=bindparam("taker"), k=bindparam("taker"), receipt=null())
    .returning(slot.c.j)
)


class ClaimsFirst(CapLease):
    """Claim, then write the key, which is known only when the slot is."""

    take = TAKE

    def _held(self, nu: str) -> Record:
        return self._record(nu)

    def _now(self) -> float:
        return self.env.now()  # before the claim, and no lock is there to wait for

    def _take(self, free: Free, request: Request) -> Admission:
        record = free.record
        claimed = self.store.one(_CLAIM, root=record.root, giver=record.nu, taker=request.attempt)
        if claimed is None:
            raise lost_race()
        return super()._take(replace(free, j=claimed[0]), request)


class MP2(CapLeasePostgres):
    """The target ``builtin:broken/MP2``."""

    name = TargetName("admitone", "broken/MP2", "1")
    convicted_by: tuple[str, ...] = ("AO102", "AO104", "AO304")
    never_by: tuple[str, ...] = ("AO101", "AO203", "AO704", "AO801")

    def ledger_class(self) -> type[CapLease]:
        return ClaimsFirst
