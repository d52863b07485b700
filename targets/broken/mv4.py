"""MV4, recover-too-narrow: recovery passes over what is revoked or expired.

Changed: Recover hands out the slots of living records only. What was admitted in time, and whose
executor died with it, is never settled once t_e has passed or the user has revoked: its effect may
stand at the sink, and the ledger shows it under way for ever.

Real class: a sweeper whose query has ``AND expires_at > now()``, or ``worker_id = :me`` after the
worker has got a new id.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..caplease.denials import answering
from ..caplease.ledger import CapLease
from ..caplease.records import record_from
from ..caplease.recover import RECORD_COLUMNS, UNFINISHED
from ..caplease.target import CapLeaseSqlite
from ..replies import Recovered
from ..terms import Authorization, TargetName


class LivingOnly(CapLease):
    """The dead are not asked for."""

    @answering
    def recover(self, known: Sequence[Authorization]) -> Recovered:
        with self.store.writing():
            now_s = self._now()
            rows = [(row, record_from(row[:RECORD_COLUMNS])) for row in self.store.all(UNFINISHED)]
            return Recovered(
                resume=tuple(
                    self._admission(row, record)
                    for row, record in rows
                    if not record.revoked and (record.te is None or now_s < record.te)
                )
            )


class MV4(CapLeaseSqlite):
    """The target ``builtin:broken/MV4``."""

    name = TargetName("admitone", "broken/MV4", "1")
    convicted_by: tuple[str, ...] = ("AO301",)
    never_by: tuple[str, ...] = (
        "AO101",
        "AO102",
        "AO103",
        "AO104",
        "AO106",
        "AO201",
        "AO203",
        "AO303",
        "AO304",
        "AO401",
        "AO402",
        "AO404",
        "AO704",
        "AO801",
    )

    def ledger_class(self) -> type[CapLease]:
        return LivingOnly
