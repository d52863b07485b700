"""audit-trimmed: the chain keeps its newest records only.

Changed: each append deletes what is older than the last few records, so that the table stays small.
What is left is linked as it should be, but it no longer begins at the beginning, and its count says
nothing any more: whoever wants a record gone has to wait, or to be busy.

Real class: log rotation and retention jobs over a table that is also the proof, ``LIMIT`` windows.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import delete, func, select

from ..caplease.chain import Entry
from ..caplease.ledger import CapLease
from ..caplease.schema import audit
from ..caplease.target import CapLeaseSqlite
from ..terms import TargetName

KEPT: Final = 4
_NEWEST = select(func.max(audit.c.seq)).scalar_subquery()
_TRIM: Final = delete(audit).where(audit.c.seq <= _NEWEST - KEPT)


class Trimmed(CapLease):
    """Append at one end, cut at the other."""

    def _append(self, *entries: Entry) -> None:
        super()._append(*entries)
        self.store.run(_TRIM)


class AuditTrimmed(CapLeaseSqlite):
    """The target ``builtin:broken/audit-trimmed``."""

    name = TargetName("admitone", "broken/audit-trimmed", "1")
    convicted_by: tuple[str, ...] = ("AO704",)
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
        "AO701",
        "AO801",
    )

    def ledger_class(self) -> type[CapLease]:
        return Trimmed
