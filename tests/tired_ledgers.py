"""Ledgers that count how often a unit was taken up, and have had enough of it at some time.

For tests alone: ``py:tests.tired_ledgers:NAME``. Each stands any one crash, and two.
"""

from __future__ import annotations

from admitone.targets import contract as c
from admitone.targets.correct.counter import CounterTarget, UseCounter
from admitone.targets.correct.guarded import Gate, GuardedTarget

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


class _Quitting(Gate):
    """Whatever was sent so often without an answer is sent no more."""

    def resume(self) -> list[tuple[str, str, str]]:
        query = "SELECT grant_id, attempt, key, tool, args FROM runs JOIN grants ON grant_id = id"
        with self._writing() as db:
            db.execute("CREATE TABLE IF NOT EXISTS sent (key TEXT NOT NULL)")
            running = db.execute(
                f"{query} WHERE state = 'running' AND ? > "
                "(SELECT count(*) FROM sent WHERE sent.key = runs.key)",
                (ENOUGH - 1,),
            ).fetchall()
            db.executemany("INSERT INTO sent VALUES (?)", [(row[2],) for row in running])
        ended = []
        for grant, attempt, key, tool, args in running:
            try:
                self._ask(tool, args, key)
            except (c.NotApplied, c.EffectUnknown):
                continue
            ended.append((grant, attempt, key))
        return ended


class Quits(GuardedTarget):
    library = _Quitting
