"""revoke-counts-own: Revoke stops a whole family, and answers for its head alone.

Changed: the answer names the slots that the revoked record itself holds. What its children had is
stopped with it, or runs on, and neither is said: whoever revokes takes the rest for never used.

Real class: a revocation that cascades by a trigger or a foreign key, and reports the row count of
the statement that it ran itself.
"""

from __future__ import annotations

from typing import Final

from ..caplease.chain import Entry
from ..caplease.denials import answering
from ..caplease.ledger import CapLease
from ..caplease.schema import COMMITTED, ISSUED, PREPARED
from ..caplease.target import CapLeaseSqlite
from ..replies import Revoked
from ..terms import Authorization, TargetName

ADMITTED: Final = (PREPARED, COMMITTED)


class AnswersForOne(CapLease):
    """What the children had is left out."""

    @answering
    def revoke(self, authorization: Authorization) -> Revoked:
        nu = self.credential.read(authorization)
        with self.store.writing():
            record = self._lock(nu)
            family = self._family(record)
            slots = [found for found in self._slots(record.root) if found.holder in family]
            flagged = self._flag(family)
            self._stop(record.root, slots)
            if flagged:
                self._append(Entry(nu, None, "revoke"))
        own = [found for found in slots if found.holder == nu]
        return Revoked(
            stopped=tuple(str(found.j) for found in own if found.state == ISSUED),
            too_late=tuple(str(found.j) for found in own if found.state in ADMITTED),
        )


class RevokeCountsOwn(CapLeaseSqlite):
    """The target ``builtin:broken/revoke-counts-own``."""

    name = TargetName("admitone", "broken/revoke-counts-own", "1")
    convicted_by: tuple[str, ...] = ("AO403",)
    never_by: tuple[str, ...] = (
        "AO101",
        "AO102",
        "AO103",
        "AO104",
        "AO105",
        "AO106",
        "AO201",
        "AO203",
        "AO301",
        "AO303",
        "AO304",
        "AO401",
        "AO501",
        "AO502",
        "AO503",
        "AO504",
        "AO701",
        "AO703",
        "AO704",
        "AO801",
    )

    def ledger_class(self) -> type[CapLease]:
        return AnswersForOne
