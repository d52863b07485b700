"""kin-unrecorded: what passes between a parent and its children leaves no audit record.

Changed: Delegate and Close append nothing to the chain. The chain always verifies, and nobody can
say from it who was given a part of the budget, or gave it back.

Real class: an audit log that covers the table of uses, and not the one of grants; role assignments
that are made by an administrator's script, past the service that writes the log.
"""

from __future__ import annotations

from ..caplease.chain import Entry
from ..caplease.ledger import CapLease
from ..caplease.target import CapLeaseSqlite
from ..terms import TargetName


class RecordsUsesOnly(CapLease):
    """Kin is not worth a record."""

    def _append(self, *entries: Entry) -> None:
        worth = [entry for entry in entries if entry.op not in ("delegate", "close")]
        if worth:
            super()._append(*worth)


class KinUnrecorded(CapLeaseSqlite):
    """The target ``builtin:broken/kin-unrecorded``."""

    name = TargetName("admitone", "broken/kin-unrecorded", "1")
    convicted_by: tuple[str, ...] = ("AO703",)
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
        "AO501",
        "AO502",
        "AO503",
        "AO504",
        "AO701",
        "AO704",
        "AO801",
    )

    def ledger_class(self) -> type[CapLease]:
        return RecordsUsesOnly
