"""MV1 over a lease: the reaper frees a seat whose lease has ended, instead of passing it on.

Changed (over ``correct/lease``): nobody takes over a seat. Instead a reaper (``work``) sets seats
free again whose lease ended, and forgets who had them. Key and fence stay, so that the sink hides
the second effect and the first holder can still pay; but the ledger now shows a unit as unused
whose effect may stand, and admits another request to it as to a fresh one.

Real class: lease tables with a sweeper that deletes expired rows.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import ClassVar

from ..contract import Env
from ..correct.lease import LeaseTarget, Seats
from ..terms import Json, TargetName


class NoTakeover(Seats):
    """Only free seats are given."""

    OFFER = (
        "SELECT seat FROM seats WHERE booking = ? AND ? AND receipt IS NULL AND occupant IS NULL"
        " ORDER BY seat LIMIT 1"
    )


class MV1Lease(LeaseTarget):
    """The target ``builtin:broken/MV1-lease``."""

    library = NoTakeover
    reap: ClassVar[str] = (
        "UPDATE seats SET occupant = NULL, until_s = NULL WHERE receipt IS NULL AND until_s <= ?"
    )
    name = TargetName("admitone", "broken/MV1-lease", "1")
    convicted_by: tuple[str, ...] = ("AO102", "AO104", "AO105")
    never_by: tuple[str, ...] = ("AO101", "AO103", "AO201", "AO203", "AO304", "AO801")

    def work(self, store: Json, env: Env) -> None:
        """One pass of the reaper."""
        with closing(
            sqlite3.connect(
                env.workspace / str(store), timeout=env.patience_s, isolation_level=None
            )
        ) as db:
            db.execute("PRAGMA synchronous = FULL")
            db.execute(self.reap, (env.now(),))
