"""MP1, prepare-select-then-update: the slot is looked at first and taken later.

Changed: the look and the write are two transactions, and the write does not ask again whether the
slot is still Issued. Everything is right as long as nobody comes between them.

Real class: ``SELECT ... WHERE used = 0``, then ``UPDATE ... WHERE id = ?`` in autocommit code: how
coupons, invitations and one-time codes come to work twice.
"""

from __future__ import annotations

from sqlalchemy import null

from ..caplease.ledger import CapLease
from ..caplease.prepare import TAKE, Free, Request
from ..caplease.target import CapLeaseSqlite
from ..replies import Replayed
from ..terms import Admission, TargetName


class SelectThenUpdate(CapLease):
    """Check, then act."""

    take = TAKE.values(receipt=null())

    def _admit(self, request: Request) -> Admission | Replayed:
        with self.store.reading():
            found = self._examine(request)
        if not isinstance(found, Free):
            return found
        with self.store.writing():
            return self._take(found, request)


class MP1(CapLeaseSqlite):
    """The target ``builtin:broken/MP1``."""

    name = TargetName("admitone", "broken/MP1", "1")
    convicted_by: tuple[str, ...] = ("AO102", "AO104", "AO304")
    never_by: tuple[str, ...] = ("AO101", "AO203", "AO704", "AO801")

    def ledger_class(self) -> type[CapLease]:
        return SelectThenUpdate
