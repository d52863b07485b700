"""MR1, revoke-and-prepare-on-different-rows: Revoke writes the record, Prepare locks only the slot.

Changed: Revoke only sets the record's flag, and Prepare asks for it inside the update that takes
the slot, by EXISTS. That looks atomic, and is not: the two meet at no row. Between two callers the
gap is from the update to the COMMIT. With a third one that holds the slot it is as long as that one
likes: who waits behind it has asked already, Revoke is acknowledged meanwhile, the third one dies
and rolls back, and PostgreSQL at READ COMMITTED looks again at the slot's row and at no other.
Locking the record's row first, also with ``FOR SHARE``, mends both. On SQLite there is no gap,
because a writer holds the one write lock from its first statement.

Real class: ``UPDATE tokens SET ... WHERE ... AND EXISTS (SELECT 1 FROM grants WHERE NOT revoked)``.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import bindparam, exists, select

from ..caplease.ledger import CapLease
from ..caplease.prepare import TAKE_IF_FREE
from ..caplease.records import Record
from ..caplease.schema import auth
from ..caplease.store import Found
from ..caplease.target_postgres import CapLeasePostgres
from ..terms import TargetName

_STANDS = exists(select(auth.c.nu).where(auth.c.nu == bindparam("giver"), auth.c.revoked == 0))


class AsksOnTheWay(CapLease):
    """The flag is looked at where the slot is taken, and by nothing that locks it."""

    take = TAKE_IF_FREE.where(_STANDS)

    def _held(self, nu: str) -> Record:
        return self._record(nu)

    def _now(self) -> float:
        return self.env.now()  # the chain is locked last, when the slot is taken

    def _stop(self, root: str, slots: Sequence[Found]) -> None:
        """The flag stops them."""


class MR1(CapLeasePostgres):
    """The target ``builtin:broken/MR1``."""

    name = TargetName("admitone", "broken/MR1", "1")
    convicted_by: tuple[str, ...] = ("AO401", "AO403")
    never_by: tuple[str, ...] = ("AO101", "AO102", "AO103", "AO104", "AO203", "AO704", "AO801")

    def ledger_class(self) -> type[CapLease]:
        return AsksOnTheWay
