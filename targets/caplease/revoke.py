"""Revoke: stop every slot of a record and its descendants that is not yet admitted.

It takes the lock that Prepare takes, so of the two one is first. What is already admitted runs on,
and the answer says which slots those are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlalchemy import bindparam, select, update

from ..replies import Revoked
from ..terms import Authorization
from .base import Base
from .chain import Entry
from .denials import answering, lost_race
from .records import Record
from .schema import COMMITTED, ISSUED, PREPARED, REVOKED, auth, slot
from .store import Found

_DESCENDANTS = select(auth.c.nu, auth.c.parent).where(
    auth.c.parent != "", auth.c.root == bindparam("root")
)
_FLAG = update(auth).where(auth.c.nu == bindparam("record"), auth.c.revoked == 0).values(revoked=1)
_STOP = (
    update(slot)
    .where(slot.c.nu == bindparam("root"), slot.c.j == bindparam("number"))
    .where(slot.c.state == ISSUED)
    .values(state=REVOKED)
)


class Revoking(Base):
    """The ``revoke`` operation."""

    @answering
    def revoke(self, authorization: Authorization) -> Revoked:
        """A second Revoke finds nothing to stop and says so."""
        nu = self.credential.read(authorization)
        with self.store.writing():
            record = self._lock(nu)
            family = self._family(record)
            slots = [found for found in self._slots(record.root) if found.holder in family]
            free = [found.j for found in slots if found.state == ISSUED]
            admitted = [found.j for found in slots if found.state in (PREPARED, COMMITTED)]
            flagged = self._flag(family)
            self._stop(record.root, slots)
            if free:
                self._append(*(Entry(record.root, j, "revoke") for j in free))
            elif flagged:
                self._append(Entry(record.nu, None, "revoke"))
        return Revoked(stopped=_names(free), too_late=_names(admitted))

    def _family(self, record: Record) -> set[str]:
        """The record and all its descendants."""
        rows = self.store.all(_DESCENDANTS, root=record.root)
        family = {record.nu}
        while grown := {row.nu for row in rows if row.parent in family} - family:
            family |= grown
        return family

    def _flag(self, family: set[str]) -> int:
        """Let nothing new begin under these records; how many of them still could."""
        return self.store.many(_FLAG, [{"record": nu} for nu in sorted(family)])

    def _stop(self, root: str, slots: Sequence[Found]) -> None:
        """Stop those that are still free."""
        rows = [{"root": root, "number": found.j} for found in slots if found.state == ISSUED]
        if self.store.many(_STOP, rows) != len(rows):
            raise lost_race()


def _names(numbers: Iterable[int]) -> tuple[str, ...]:
    return tuple(str(j) for j in numbers)
