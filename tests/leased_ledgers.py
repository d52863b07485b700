"""Two recoveries of a ledger with leases: one waits until they lapse, the other finds nothing.

``py:tests.leased_ledgers:NAME``.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from typing import Any

from admitone.targets import contract as c
from admitone.targets.correct.lease import LeaseLedger, LeaseTarget, NoSeat, Seats

LAPSED = "SELECT key FROM seats WHERE until_s <= ?"
MAY_SIT = """
SELECT 1 FROM bookings JOIN seats ON booking = number LEFT JOIN seated USING (booking, seat)
WHERE name = ? AND (occupant IS NULL OR attempt = ?)
"""


class _Patient(LeaseLedger):
    """Recovers what is nobody's now. Whoever still has a lease may yet end it alone."""

    def __init__(self, seats: Seats, path: str, env: c.Env) -> None:
        super().__init__(seats)
        self._path, self._env = path, env

    def prepare(self, authorization: c.Authorization, *asked: Any) -> c.Admission | c.Replayed:
        """A seat passes on to nobody: only its own attempt, or recovery, ends it."""
        if not self._read(MAY_SIT, authorization.record, asked[-1]):
            raise NoSeat("exhausted")
        return super().prepare(authorization, *asked)

    def _read(self, query: str, *values: Any) -> list[Any]:
        with closing(sqlite3.connect(f"file:{self._path}?mode=ro", uri=True)) as db:
            return db.execute(query, values).fetchall()

    def recover(self, known: Sequence[c.Authorization]) -> c.Recovered:
        lapsed = {key for (key,) in self._read(LAPSED, self._env.now())}
        found = super().recover(known).resume
        return c.Recovered(resume=tuple(a for a in found if a.key in lapsed))


class _Idle(_Patient):
    """Its predicate never matches."""

    def recover(self, known: Sequence[c.Authorization]) -> c.Recovered:
        return c.Recovered(resume=())


class Patient(LeaseTarget):
    """Correct."""

    ledger: type[_Patient] = _Patient

    def open(self, store: c.Json, env: c.Env) -> LeaseLedger:
        seats = super().open(store, env).seats
        return self.ledger(seats, str(env.workspace / str(store)), env)


class Idle(Patient):
    """MP6 under a lease: nothing is ever recovered."""

    ledger = _Idle
