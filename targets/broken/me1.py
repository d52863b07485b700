"""ME1, key-per-attempt: each hand-out of one slot carries another sink key.

Changed: k is made fresh whenever an admission is handed out, by a repeated Prepare and by Recover
too, and no longer H(nu || j || tool). Issue and admission bounds hold; the sink, which tells
requests apart by their keys, applies a resent effect a second time.

Real class: an ``Idempotency-Key`` of ``uuid4()`` made inside the retry loop, or one that contains
the attempt's number or a timestamp.
"""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import Any, Final

from sqlalchemy import bindparam, update

from ..caplease.ledger import CapLease
from ..caplease.records import Record
from ..caplease.schema import slot
from ..caplease.target import CapLeaseSqlite
from ..terms import Admission, TargetName

_REKEY: Final = (
    update(slot)
    .where(slot.c.nu == bindparam("root"), slot.c.j == bindparam("number"))
    .values(k=bindparam("key"))
)


class KeyPerAttempt(CapLease):
    """A new key each time."""

    def _admission(self, slot_: Any, record: Record) -> Admission:
        fresh = uuid.uuid4().hex
        self.store.run(_REKEY, root=record.root, number=slot_.j, key=fresh)
        return replace(super()._admission(slot_, record), key=fresh)


class ME1(CapLeaseSqlite):
    """The target ``builtin:broken/ME1``."""

    name = TargetName("admitone", "broken/ME1", "1")
    convicted_by: tuple[str, ...] = ("AO103", "AO106", "AO201")
    never_by: tuple[str, ...] = ("AO101", "AO102", "AO104", "AO203", "AO704", "AO801")

    def ledger_class(self) -> type[CapLease]:
        return KeyPerAttempt
