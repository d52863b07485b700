"""revoke-one-record: Revoke does not look for descendants.

Changed: Revoke stops the record that it is given, and the slots which that one holds. Children that
were made before keep theirs, and go on.

Real class: a refresh token is revoked and the access tokens minted from it live on; a user is
disabled, and the API keys that the user made are not.
"""

from __future__ import annotations

from ..caplease.ledger import CapLease
from ..caplease.records import Record
from ..caplease.target import CapLeaseSqlite
from ..terms import TargetName


class NoDescendants(CapLease):
    """A family of one."""

    def _family(self, record: Record) -> set[str]:
        return {record.nu}


class RevokeOneRecord(CapLeaseSqlite):
    """The target ``builtin:broken/revoke-one-record``."""

    name = TargetName("admitone", "broken/revoke-one-record", "1")
    convicted_by: tuple[str, ...] = ("AO503",)
    never_by: tuple[str, ...] = (
        "AO101",
        "AO102",
        "AO103",
        "AO104",
        "AO201",
        "AO203",
        "AO304",
        "AO401",
        "AO501",
        "AO502",
        "AO704",
        "AO801",
    )

    def ledger_class(self) -> type[CapLease]:
        return NoDescendants
