"""MI3, issue-upsert-resets: issuing again gives the used budget back.

Changed: a repeated Issue finds its record, as it must, and then puts every slot and the record back
to the state of the first one: committed and revoked units are free again. The sink key of a slot is
still H(nu || j || tool), so that an idempotent sink hides the second effect.

Real class: ``INSERT OR REPLACE``, ``ON CONFLICT DO UPDATE SET used = 0``, ``save()`` of an object
that was made anew with its default state.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import bindparam, null, update

from ..caplease.chain import Entry
from ..caplease.ledger import CapLease
from ..caplease.records import Record
from ..caplease.schema import ISSUED, auth, slot
from ..caplease.target import CapLeaseSqlite
from ..terms import TargetName

_RESET_SLOTS: Final = (
    update(slot)
    .where(slot.c.nu == bindparam("root"), slot.c.state != ISSUED)
    .values(state=ISSUED, attempt=null(), k=null(), receipt=null())
)
_RESET_RECORD: Final = update(auth).where(auth.c.nu == bindparam("root")).values(revoked=0)


class Upsert(CapLease):
    """Insert, or overwrite."""

    def _standing(self, record: Record) -> Record:
        standing = super()._standing(record)
        self.store.run(_RESET_RECORD, root=standing.nu)
        if self.store.run(_RESET_SLOTS, root=standing.nu):
            self._append(Entry(standing.nu, None, "issue"))
        return standing


class MI3(CapLeaseSqlite):
    """The target ``builtin:broken/MI3``."""

    name = TargetName("admitone", "broken/MI3", "1")
    convicted_by: tuple[str, ...] = ("AO102", "AO104", "AO304", "AO701")
    never_by: tuple[str, ...] = ("AO101", "AO103", "AO201", "AO203", "AO704", "AO801")

    def ledger_class(self) -> type[CapLease]:
        return Upsert
