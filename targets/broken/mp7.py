"""MP7, busy-means-denied: whoever meets a lock is told that nothing is left.

Changed: a transaction begins without the write lock, looks, and writes later. If somebody else has
written in between, SQLite answers "database is locked" at once; and that, of which the reference
says "busy, try again", is a final refusal here. Nothing was admitted for it, and units are left:
the user is sent for another confirmation because two of the user's own requests came at once.

Real class: ``except OperationalError: return already_used()``, a serialization failure (40001) or a
deadlock that ends as 403, one handler for "no row was changed" and "could not look".
"""

from __future__ import annotations

from typing import Any

from ..caplease.store_sqlite import SqliteStore
from ..caplease.target import CapLeaseSqlite
from ..replies import Refused
from ..terms import TargetName


class Deferred(SqliteStore):
    """Look first, lock later."""

    begin_writing = "BEGIN DEFERRED"


class MP7(CapLeaseSqlite):
    """The target ``builtin:broken/MP7``."""

    name = TargetName("admitone", "broken/MP7", "1")
    convicted_by: tuple[str, ...] = ("AO405",)
    never_by: tuple[str, ...] = (
        "AO101",
        "AO102",
        "AO103",
        "AO104",
        "AO106",
        "AO201",
        "AO203",
        "AO304",
        "AO704",
        "AO801",
    )

    def store_class(self) -> type[SqliteStore]:
        return Deferred

    def classify(self, exc: BaseException) -> Any:
        """A lock is a no."""
        return None if super().classify(exc) is None else Refused("exhausted", retryable=False)
