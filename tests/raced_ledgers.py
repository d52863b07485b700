"""Ledgers that are wrong when a Delegate, a Close or a Release meets another call, for tests alone.

Each looks in one transaction and acts in the next; nobody sees it who asks one after the other.
``py:tests.raced_ledgers:NAME``.
"""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from typing import Any

from sqlalchemy import bindparam, null, update

from admitone.targets import contract as c
from admitone.targets.caplease.chain import Entry
from admitone.targets.caplease.denials import answering
from admitone.targets.caplease.ledger import CapLease
from admitone.targets.caplease.records import Record
from admitone.targets.caplease.schema import ISSUED, slot
from admitone.targets.caplease.target import CapLeaseSqlite
from admitone.targets.correct.counter import CounterTarget, Denied, UseCounter
from admitone.targets.correct.guarded import Gate, GuardedTarget
from admitone.targets.replies import Done
from admitone.targets.terms import Authorization


class ListsFirst(CapLease):
    """Revoke lists the descendants before the transaction that revokes them."""

    _listed: set[str] | None = None

    def _family(self, record: Record) -> set[str]:
        return self._listed or super()._family(record)

    def revoke(self, authorization: Authorization) -> Any:
        nu = self.credential.read(authorization)
        with self.store.reading():
            self._listed = super()._family(self._lock(nu))
        try:
            return super().revoke(authorization)
        finally:
            self._listed = None


class SparesTheBusy(CapLease):
    """Revoke leaves descendants alone that have used a unit. No race either."""

    def _family(self, record: Record) -> set[str]:
        busy = {s.holder for s in self._slots(record.root) if s.state != ISSUED}
        return super()._family(record) - (busy - {record.nu})


_BACK = (
    update(slot)
    .where(slot.c.nu == bindparam("root"), slot.c.j == bindparam("number"))
    .values(holder=bindparam("taker"), state=ISSUED, attempt=null(), k=null(), receipt=null())
)


class CountsFirst(CapLease):
    """Close looks what is left of a child before the transaction that gives it back."""

    @answering
    def close(self, authorization: Authorization) -> Any:
        nu = self.credential.read(authorization)
        with self.store.reading():
            child = self._lock(nu)
            left = [s.j for s in self._slots(child.root) if s.holder == nu and s.state == ISSUED]
        with self.store.writing():
            for j in left:
                self.store.run(_BACK, root=child.root, number=j, taker=child.parent)
            self._flag({nu})
            self._append(Entry(nu, None, "close"))
        return Done()


class ForgetsTheEnd(CapLease):
    """A child is made without its parent's t_e. No race, and no other kin shows it either."""

    def _make_child(self, parent: Record, context: Any, budget: int) -> Record:
        return super()._make_child(replace(parent, te=None), context, budget)


class LooksFirst(UseCounter):
    """Release looks whether the use is held before the transaction that gives it back."""

    def give_back(self, event: str, attempt: str, evidence: str) -> None:
        with self._transaction() as db:
            query = "SELECT receipt, asked, returned FROM use WHERE event = ? AND attempt = ?"
            row = db.execute(query, (event, attempt)).fetchone()
        if row is None or row[2] is not None:
            raise Denied("not_prepared")
        self._check_without_effect(row[0], row[1])
        with self._transaction() as db:
            done = "UPDATE use SET returned = ? WHERE event = ? AND attempt = ?"
            db.execute(done, (evidence, event, attempt))
            db.execute("UPDATE approval SET used = used - 1 WHERE event = ?", (event,))


class BelievesTheLast(Gate):
    """A guarded run is taken back when its last request was turned away, whatever became of an
    earlier one. No race either."""

    def _ask(self, tool: str, args: str, key: str) -> c.Receipt:
        try:
            return super()._ask(tool, args, key)
        except (c.NotApplied, c.EffectUnknown) as problem:
            if isinstance(problem.__cause__ or problem, c.NotApplied):
                with self._writing() as db:
                    back = "UPDATE runs SET state = 'taken back' WHERE key = ? AND receipt IS NULL"
                    db.execute(back, (key,))
            raise


class ReadmitsWhatCameBack(Gate):
    """A guarded run that was taken back runs on when it is asked for again, whatever came between.
    No race either."""

    def _let_through(
        self, db: sqlite3.Connection, grant: str, bound: tuple[str, str], attempt: str
    ) -> c.Receipt | tuple[str, str, str]:
        again = "UPDATE runs SET state = 'running' WHERE grant_id = ? AND attempt = ?"
        db.execute(again + " AND state = 'taken back'", (grant, attempt))
        return super()._let_through(db, grant, bound, attempt)


class RevokeListsFirst(CapLeaseSqlite):
    def ledger_class(self) -> type[CapLease]:
        return ListsFirst


class RevokeSparesTheBusy(CapLeaseSqlite):
    def ledger_class(self) -> type[CapLease]:
        return SparesTheBusy


class CloseCountsFirst(CapLeaseSqlite):
    def ledger_class(self) -> type[CapLease]:
        return CountsFirst


class ChildWithoutEnd(CapLeaseSqlite):
    def ledger_class(self) -> type[CapLease]:
        return ForgetsTheEnd


class ReleaseLooksFirst(CounterTarget):
    library = LooksFirst


class TakesBackInDoubt(GuardedTarget):
    library = BelievesTheLast


class RunsOnAfterRevoke(GuardedTarget):
    library = ReadmitsWhatCameBack
