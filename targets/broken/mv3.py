"""MV3, recover-takes-new-slot: recovery admits the unfinished request again, as a new one.

Changed: Recover calls Prepare for each slot that it finds Prepared, under an attempt of its own,
and hands the slot out that it got. With b = 1 there is none, and nothing ever recovers. With b = 2
the request gets a second slot and a second key: two effects for one request, while every bound
holds. The first slot stays Prepared for ever.

Real class: "on restart, run the pending requests through the normal path again".
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from contextlib import suppress

from ..caplease.denials import Denied
from ..caplease.ledger import CapLease
from ..caplease.prepare import Request
from ..caplease.records import read_context, record_from
from ..caplease.recover import RECORD_COLUMNS, UNFINISHED
from ..caplease.target import CapLeaseSqlite
from ..replies import Recovered
from ..terms import Admission, Authorization, TargetName


class PrepareAgain(CapLease):
    """Recovery as a client of Prepare."""

    def recover(self, known: Sequence[Authorization]) -> Recovered:
        with self.store.reading():
            rows = self.store.all(UNFINISHED)
        resumed = []
        for row in rows:
            record = record_from(row[:RECORD_COLUMNS])
            attempt = f"recovery {secrets.token_hex(8)}"
            again = Request(record.nu, record.sigma, read_context(record.chi), attempt)
            with suppress(Denied):  # no slot left: this is the bug
                admitted = self._admit(again)
                if isinstance(admitted, Admission):
                    resumed.append(admitted)
        return Recovered(resume=tuple(resumed))


class MV3(CapLeaseSqlite):
    """The target ``builtin:broken/MV3``."""

    name = TargetName("admitone", "broken/MV3", "1")
    convicted_by: tuple[str, ...] = ("AO106", "AO301", "AO303")
    never_by: tuple[str, ...] = (
        "AO101",
        "AO102",
        "AO103",
        "AO104",
        "AO201",
        "AO203",
        "AO304",
        "AO704",
        "AO801",
    )

    def ledger_class(self) -> type[CapLease]:
        return PrepareAgain
