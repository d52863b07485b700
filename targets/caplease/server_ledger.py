"""The target ``builtin:server-ledger-sqlite``: the same ledger, asked with a selector.

The Server Ledger of the paper: the same records, transitions, statements and refusals. Its clients
carry no scope, only an authenticated selector for nu, and have the server validate each operation.
That both give the same answers shows that the guarantee follows from the durable record and its
transactions, not from what a client carries.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..terms import TargetName
from .target import CapLeaseSqlite

if TYPE_CHECKING:
    from .credential import Credential


class ServerLedgerSqlite(CapLeaseSqlite):
    """The selector realization over SQLite. Facts and claims are those of the core."""

    name = TargetName("admitone", "server-ledger-sqlite", "1")

    def credential(self, key: bytes) -> Credential:
        from .selector import Selector

        return Selector(key)
