"""MR2, revoke-blind-write: Revoke writes Revoked over whatever stands there.

Changed: Revoke writes every slot of its family and not the free ones alone. A slot that is admitted
loses its attempt and key while its effect is on the way, so recovery can never settle it; a
committed one is forgotten. Its answer is still right, because it counts before it writes.

Real class: ``UPDATE ... SET status = 'cancelled' WHERE id = ?`` without the status in the WHERE.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sqlalchemy import bindparam, null, update

from ..caplease.ledger import CapLease
from ..caplease.schema import REVOKED, slot
from ..caplease.store import Found
from ..caplease.target import CapLeaseSqlite
from ..terms import TargetName

_OVERWRITE: Final = (
    update(slot)
    .where(slot.c.nu == bindparam("root"), slot.c.j == bindparam("number"))
    .values(state=REVOKED, attempt=null(), k=null(), receipt=null())
)


class BlindRevoke(CapLease):
    """Write, whatever the state."""

    def _stop(self, root: str, slots: Sequence[Found]) -> None:
        self.store.many(_OVERWRITE, [{"root": root, "number": found.j} for found in slots])


class MR2(CapLeaseSqlite):
    """The target ``builtin:broken/MR2``."""

    name = TargetName("admitone", "broken/MR2", "1")
    convicted_by: tuple[str, ...] = ("AO105", "AO304", "AO701")
    never_by: tuple[str, ...] = (
        "AO101",
        "AO102",
        "AO103",
        "AO104",
        "AO106",
        "AO201",
        "AO203",
        "AO303",
        "AO704",
        "AO801",
    )

    def ledger_class(self) -> type[CapLease]:
        return BlindRevoke
