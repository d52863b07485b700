"""MC2a, commit-outcome-misread: an error of COMMIT is logged, and the answer is "ok".

Changed: the store takes an error that COMMIT raises for a nuisance. The transaction is then rolled
back, so what the client was just told (a record, an admission, a settled slot) does not exist.
As long as no COMMIT fails, everything is right: kills alone never show it.

Real class: ``except OperationalError: log.warning(...)`` around ``commit()``, a driver that sends
COMMIT again on a new connection, an aborted transaction whose COMMIT the server answers with
ROLLBACK and the driver with success.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Iterator
from typing import ClassVar

from ..caplease.store import Store, Transaction
from ..caplease.store_sqlite import SqliteStore
from ..caplease.target import CapLeaseSqlite
from ..terms import TargetName


class Optimist(Store):
    """Whatever COMMIT says, it went well. ``mishap`` is how the driver says otherwise."""

    mishap: ClassVar[type[Exception]]

    def _until_commit(self, transaction: Transaction) -> Iterator[None]:
        try:
            yield
        except BaseException:
            transaction.rollback()
            raise
        try:
            transaction.commit()
        except self.mishap as problem:
            logging.getLogger(__name__).warning("commit: %s", problem)
            transaction.rollback()


class SqliteOptimist(Optimist, SqliteStore):
    """Over SQLite."""

    mishap = sqlite3.Error


class MC2a(CapLeaseSqlite):
    """The target ``builtin:broken/MC2a``."""

    name = TargetName("admitone", "broken/MC2a", "1")
    convicted_by: tuple[str, ...] = ("AO102", "AO104", "AO701", "AO703")
    never_by: tuple[str, ...] = ("AO201", "AO203", "AO704", "AO801")

    def store_class(self) -> type[SqliteStore]:
        return SqliteOptimist
