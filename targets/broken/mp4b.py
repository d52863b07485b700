"""MP4b, lost-update: the counter is read in one transaction and written in the next.

Changed (over ``correct/counter``): a use reads the counter first, and then sets it to what it read
plus one. The write does look at the bound, so at b = 1 the second caller is turned away, and all is
well. At b = 2 two callers at once count as one, and a third is admitted: bursts of exactly b
callers see nothing.

Real class: ``row.used += 1; session.commit()`` in an object-relational mapper, "read, add, write"
on a key-value store.
"""

from __future__ import annotations

import sqlite3
import threading

from ..contract import Call, Context
from ..correct.counter import CounterTarget, UseCounter
from ..terms import TargetName

_READ = "SELECT used FROM approval WHERE event = ?"


class LostUpdate(UseCounter):
    """Read, then write what was read plus one."""

    TAKE = UseCounter.TAKE.replace("used = used + 1", "used = ? + 1")
    _mine = threading.local()

    def use(self, event: str, call: Call, context: Context, attempt: str) -> str | None:
        with self._transaction() as db:
            self._mine.read = db.execute(_READ, (event,)).fetchone()
        return super().use(event, call, context, attempt)

    def _take(self, db: sqlite3.Connection, event: str) -> bool:
        values = (self._mine.read[0], event, self._now())
        return db.execute(self.TAKE, values).rowcount == 1


class MP4b(CounterTarget):
    """The target ``builtin:broken/MP4b``."""

    library = LostUpdate
    name = TargetName("admitone", "broken/MP4b", "1")
    convicted_by: tuple[str, ...] = ("AO102", "AO103", "AO105", "AO701")
    never_by: tuple[str, ...] = ("AO101", "AO104", "AO106", "AO201", "AO203", "AO301", "AO801")
