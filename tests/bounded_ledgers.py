"""Ledgers that keep something in a fixed number, which is enough for ten uses.

For tests alone: ``py:tests.bounded_ledgers:NAME``.
"""

from __future__ import annotations

from admitone.targets import contract as c
from admitone.targets.correct.counter import CounterTarget, UseCounter

ENOUGH = 10


class _RemembersTen(UseCounter):
    """Of the attempts that came to their end, the oldest are forgotten."""

    def use(self, event: str, call: c.Call, context: c.Context, attempt: str) -> str | None:
        old = (
            "UPDATE use SET attempt = attempt || '~' WHERE event = ? AND receipt IS NOT NULL"
            " AND rowid NOT IN (SELECT rowid FROM use WHERE event = ? ORDER BY rowid DESC LIMIT ?)"
        )
        with self._transaction() as db:
            db.execute(old, (event, event, ENOUGH))
        return super().use(event, call, context, attempt)


class RemembersTen(CounterTarget):
    library = _RemembersTen


class _KeepsShort(UseCounter):
    """The column of the attempt is as wide as a UUID without its dashes."""

    def use(self, event: str, call: c.Call, context: c.Context, attempt: str) -> str | None:
        return super().use(event, call, context, attempt[:32])

    def finish(self, event: str, attempt: str, receipt: c.Receipt) -> None:
        super().finish(event, attempt[:32], receipt)


class KeepsShort(CounterTarget):
    library = _KeepsShort


class _FindsTen(UseCounter):
    """Recovery takes the newest ones, and comes to the others when those are done: never."""

    def unfinished(self) -> list[tuple[str, str]]:
        newest = "SELECT rowid FROM use ORDER BY rowid DESC LIMIT ?"
        with self._transaction() as db:
            return db.execute(
                "UPDATE use SET asked = asked + 1 WHERE receipt IS NULL AND returned IS NULL"
                f" AND rowid IN ({newest}) RETURNING event, attempt",
                (ENOUGH,),
            ).fetchall()


class FindsTen(CounterTarget):
    library = _FindsTen


class _TakesTen(UseCounter):
    """Correct: recovery takes ten at a time, of those that are left."""

    def unfinished(self) -> list[tuple[str, str]]:
        return super().unfinished()[:ENOUGH]


class TakesTen(CounterTarget):
    library = _TakesTen
