"""MP1 on PostgreSQL, prepare-select-then-update inside a transaction.

Changed: Prepare does not lock the record's row, and its write does not ask again whether the slot
is still Issued. Look and write are one transaction, which at READ COMMITTED keeps nobody out: two
callers both see the slot free, and the second writes over the first when that has committed. On
SQLite the same code is right: a writer holds the one write lock from its first statement.

Real class: ``with transaction.atomic():`` around "get, check, save", without ``SELECT FOR UPDATE``.
"""

from __future__ import annotations

from sqlalchemy import null

from ..caplease.ledger import CapLease
from ..caplease.prepare import TAKE
from ..caplease.records import Record
from ..caplease.target_postgres import CapLeasePostgres
from ..terms import TargetName


class UnlockedLook(CapLease):
    """Check, then act, in one transaction."""

    take = TAKE.values(receipt=null())

    def _held(self, nu: str) -> Record:
        return self._record(nu)


class MP1Postgres(CapLeasePostgres):
    """The target ``builtin:broken/MP1-postgres``."""

    name = TargetName("admitone", "broken/MP1-postgres", "1")
    convicted_by: tuple[str, ...] = ("AO102", "AO104", "AO304")
    never_by: tuple[str, ...] = ("AO101", "AO203", "AO704", "AO801")

    def ledger_class(self) -> type[CapLease]:
        return UnlockedLook
