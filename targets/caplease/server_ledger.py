"""The targets ``builtin:server-ledger-sqlite`` and ``-postgres``: the same ledger, asked with a
selector.

The Server Ledger of the paper: the same records, transitions, statements and refusals. Its clients
carry no scope, only an authenticated selector for nu, and have the server validate each operation.
That both give the same answers shows that the guarantee follows from the durable record and its
transactions, not from what a client carries.
"""

from __future__ import annotations

from ..terms import TargetName
from .realization import WithSelector
from .target import CapLeaseSqlite
from .target_postgres import CapLeasePostgres


class ServerLedgerSqlite(WithSelector, CapLeaseSqlite):
    """The selector realization over SQLite. Facts and claims are those of the core."""

    name = TargetName("admitone", "server-ledger-sqlite", "1")


class ServerLedgerPostgres(WithSelector, CapLeasePostgres):
    """The selector realization over PostgreSQL."""

    name = TargetName("admitone", "server-ledger-postgres", "1")
