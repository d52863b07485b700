"""Recoveries of a ledger with leases: one waits until they lapse, others find nothing, or too late.

``py:tests.leased_ledgers:NAME``.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from admitone.targets import contract as c
from admitone.targets.correct.lease import LeaseLedger, LeaseTarget, NoSeat, Seats
from tests.small_ledger import SmallAsyncLedger, SmallLedger, SmallTarget

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


class _Once(_Patient):
    """Writes down what it hands out, and never hands it out again."""

    def recover(self, known: Sequence[c.Authorization]) -> c.Recovered:
        found = super().recover(known).resume
        marks = Path(self._path).with_name("tried")
        tried = marks.read_text().split() if marks.exists() else []
        marks.write_text(" ".join([*tried, *(str(a.key) for a in found)]))
        return c.Recovered(resume=tuple(a for a in found if a.key not in tried))


class Once(Patient):
    """What a recoverer had when it died is lost."""

    ledger = _Once


class _Rewrites(SmallLedger):
    def commit(self, admission: c.Admission, receipt: c.Receipt) -> c.Done:
        with self._records(admission.record) as found:
            record = dict(found[admission.record])
        done = super().commit(admission, receipt)
        with self._records(admission.record) as found:
            now = {slot["name"]: slot for slot in found[admission.record]["slots"]}
            found[admission.record]["slots"] = [
                now[slot["name"]] if slot["name"] == admission.slot else slot
                for slot in record["slots"]
            ]
        return done


class Rewrites(SmallTarget):
    """Whoever ends a use writes the other slots as they were when it began to."""

    async def open(self, store: c.Json, env: c.Env) -> SmallAsyncLedger:
        return SmallAsyncLedger(_Rewrites(env.workspace / str(store), env), env)
