"""Ledgers that count how often a unit was taken up, and have had enough of it at some time.

For tests alone: ``py:tests.tired_ledgers:NAME``. Each stands any one crash, and two.
"""

from __future__ import annotations

from admitone.targets import contract as c
from admitone.targets.correct.counter import CounterTarget, UseCounter

ENOUGH = 4


class Freeing(UseCounter):
    """What was taken up so often is thought to have failed, and its unit is given back."""

    def unfinished(self) -> list[tuple[str, str]]:
        with self._transaction() as db:
            freed = db.execute(
                "DELETE FROM use WHERE receipt IS NULL AND asked >= ? RETURNING event", (ENOUGH,)
            ).fetchall()
            for (event,) in freed:
                db.execute("UPDATE approval SET used = used - 1 WHERE event = ?", (event,))
        return super().unfinished()


class Frees(CounterTarget):
    library = Freeing


class Parking(UseCounter):
    """What was taken up so often is left for people to look at; they are not told."""

    def unfinished(self) -> list[tuple[str, str]]:
        with self._transaction() as db:
            return db.execute(
                "UPDATE use SET asked = asked + 1 WHERE receipt IS NULL AND asked < ?"
                " RETURNING event, attempt",
                (ENOUGH,),
            ).fetchall()


class Parks(CounterTarget):
    library = Parking


class Renaming(UseCounter):
    """An attempt that comes back so often is thought to be another one of the same name."""

    def use(self, event: str, call: c.Call, context: c.Context, attempt: str) -> str | None:
        with self._transaction() as db:
            rename = "UPDATE use SET attempt = attempt || '~' WHERE event = ? AND attempt = ?"
            db.execute(f"{rename} AND asked >= ?", (event, attempt, ENOUGH))
        return super().use(event, call, context, attempt)


class Renames(CounterTarget):
    library = Renaming
