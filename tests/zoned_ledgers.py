"""Ledgers that take local time for UTC, or the other way about, and one that keeps to it.

``py:tests.zoned_ledgers:NAME``, over the counting one. Where the machine keeps UTC they are right.
"""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from datetime import UTC, datetime

from admitone.targets.correct.counter import CounterTarget, Denied, UseCounter


class _Local(UseCounter):
    """t_e is compared as a time without a zone."""

    def _take(self, db: sqlite3.Connection, event: str) -> bool:
        query = "SELECT expires_s FROM approval WHERE event = ?"
        (end_s,) = db.execute(query, (event,)).fetchone()
        if end_s is not None and self.is_over(self._now(), end_s):
            raise Denied("expired")
        take = "UPDATE approval SET used = used + 1 WHERE event = ? AND used < budget"
        return db.execute(f"{take} AND revoked = 0", (event,)).rowcount == 1

    def is_over(self, now_s: float, end_s: float) -> bool:
        return naive(now_s) >= naive(end_s)


class _LateInTheEast(_Local):
    def is_over(self, now_s: float, end_s: float) -> bool:
        return datetime.fromtimestamp(now_s, UTC).replace(tzinfo=None) >= naive(end_s)


class _EarlyInTheEast(_Local):
    def is_over(self, now_s: float, end_s: float) -> bool:
        return naive(now_s) >= datetime.fromtimestamp(end_s, UTC).replace(tzinfo=None)


def naive(time_s: float) -> datetime:
    """As the machine's clock on the wall shows it."""
    return datetime.fromtimestamp(time_s)


class Local(CounterTarget):
    """Local time on both sides."""

    library = _Local


class LateInTheEast(CounterTarget):
    """Now in UTC, t_e by the clock on the wall."""

    library = _LateInTheEast


class EarlyInTheEast(CounterTarget):
    """Now by the clock on the wall, t_e in UTC. It says that its refusals are right."""

    library = _EarlyInTheEast
    declaration = replace(
        CounterTarget.declaration,
        claims={**CounterTarget.declaration.claims, "precise_codes": "Refused as expired is over."},
    )
