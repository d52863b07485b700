"""MC2a on PostgreSQL: an error of COMMIT is logged, and the answer is "ok".

Changed as in ``mc2a.py``. Here the error is mostly that of a lost connection, and then nobody at
this end knows whether the COMMIT was done: the answer is right about as often as it is wrong.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..caplease.target_postgres import CapLeasePostgres
from ..terms import TargetName

if TYPE_CHECKING:
    from ..caplease.store_postgres import PostgresStore


class MC2aPostgres(CapLeasePostgres):
    """The target ``builtin:broken/MC2a-postgres``."""

    name = TargetName("admitone", "broken/MC2a-postgres", "1")
    convicted_by: tuple[str, ...] = ("AO102", "AO104", "AO701", "AO703")
    never_by: tuple[str, ...] = ("AO201", "AO203", "AO704", "AO801")

    def store_class(self) -> type[PostgresStore]:
        import psycopg

        from ..caplease.store_postgres import PostgresStore
        from .mc2a import Optimist

        class PostgresOptimist(Optimist, PostgresStore):
            mishap = psycopg.Error

        return PostgresOptimist
