"""shared-key: all slots of a record have one sink key.

Changed: k is made of the record and the tool alone, and the slot is left out. Each slot is admitted
once and settled once, but the sink takes the effect of the second for the first one sent again: it
answers with the old receipt, and the ledger books a use that never was. With b = 1 all is right.

Real class: an ``Idempotency-Key`` that is the order's id where an order has several payments; parts
joined without their lengths, or a digest cut short.
"""

from __future__ import annotations

from .. import identity
from ..caplease.chain import Entry
from ..caplease.denials import lost_race
from ..caplease.ledger import CapLease
from ..caplease.prepare import Free, Request, Taken
from ..caplease.target import CapLeaseSqlite
from ..terms import Admission, TargetName


class KeyOfRecord(CapLease):
    """H(nu || tool)."""

    def _take(self, free: Free, request: Request) -> Admission:
        record = free.record
        key = identity.sink_key(record.root, "", record.tool)
        if not self._swap(free, request.attempt, key):
            raise lost_race()
        self._append(Entry(record.root, free.j, "prepare", request.attempt))
        return self._admission(Taken(free.j, request.attempt, key), record)


class SharedKey(CapLeaseSqlite):
    """The target ``builtin:broken/shared-key``."""

    name = TargetName("admitone", "broken/shared-key", "1")
    convicted_by: tuple[str, ...] = ("AO203", "AO302")
    never_by: tuple[str, ...] = ("AO101", "AO102", "AO103", "AO104", "AO106", "AO704", "AO801")

    def ledger_class(self) -> type[CapLease]:
        return KeyOfRecord
