"""Ledgers that are wrong about order, delegation, leases and releases: small, and for tests alone.

Each is the reference with one thing changed. The shipped ``broken/…`` are convicted by their own
test; these are the kinds that those leave out.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from sqlalchemy import bindparam, null, update

from admitone.targets.caplease.chain import Entry
from admitone.targets.caplease.denials import answering
from admitone.targets.caplease.ledger import CapLease
from admitone.targets.caplease.prepare import Free, Request
from admitone.targets.caplease.schema import ISSUED, REVOKED, slot
from admitone.targets.caplease.target import CapLeaseSqlite
from admitone.targets.correct.counter import CounterTarget, UseCounter
from admitone.targets.replies import Done, Refused, Replayed, Revoked
from admitone.targets.terms import Admission, Authorization


class FlagInAnotherRow(CapLease):
    """MR1: Revoke writes a flag, and Prepare looks at it before the transaction that takes."""

    def _stop(self, root: str, slots: Any) -> None:
        return

    def _admit(self, request: Request) -> Admission | Replayed:
        with self.store.reading():
            found = self._examine(request)
        if not isinstance(found, Free):
            return found
        with self.store.writing():
            return self._take(found, request)


class NeverExpires(CapLease):
    """MX1: t_e is looked at when the record is issued, and never again."""

    def _lock(self, nu: str) -> Any:
        return replace(super()._lock(nu), te=None)


class TimedOut(CapLeaseSqlite):
    """MP7 with the lock taken first: whoever waits for it too long is told that nothing is left."""

    def classify(self, exc: BaseException) -> Any:
        return None if super().classify(exc) is None else Refused("exhausted", retryable=False)


class MR1(CapLeaseSqlite):
    def ledger_class(self) -> type[CapLease]:
        return FlagInAnotherRow


class MX1(CapLeaseSqlite):
    def ledger_class(self) -> type[CapLease]:
        return NeverExpires


_FREE = (
    update(slot)
    .where(slot.c.holder == bindparam("giver"))
    .values(holder=bindparam("taker"), state=ISSUED, attempt=null(), k=null(), receipt=null())
)


class ClosesForEverything(CapLease):
    """A closed child gives back what it used as well."""

    @answering
    def close(self, authorization: Authorization) -> Any:
        nu = self.credential.read(authorization)
        with self.store.writing():
            child = self._lock(nu)
            self.store.run(_FREE, giver=child.nu, taker=child.parent)
            self._flag({child.nu})
            self._append(Entry(child.nu, None, "close"))
        return Done()


class FullRefund(CapLeaseSqlite):
    def ledger_class(self) -> type[CapLease]:
        return ClosesForEverything


class ClosesWithoutARecord(CapLease):
    """Close appends nothing to the audit chain."""

    def _append(self, *entries: Entry) -> None:
        if worth := [entry for entry in entries if entry.op != "close"]:
            super()._append(*worth)


class ClosesUnrecorded(CapLeaseSqlite):
    def ledger_class(self) -> type[CapLease]:
        return ClosesWithoutARecord


class AppendsTwice(ClosesWithoutARecord):
    """The same, and everything else has two records: those stand for the missing one."""

    def _append(self, *entries: Entry) -> None:
        super()._append(*entries, *entries)


class RecordsTwice(CapLeaseSqlite):
    def ledger_class(self) -> type[CapLease]:
        return AppendsTwice


class AnswersWithNumbers(CapLease):
    """Revoke counts what its children have used or hold among what it stopped."""

    def revoke(self, authorization: Authorization) -> Any:
        said = super().revoke(authorization)
        if not isinstance(said, Revoked):
            return said
        with self.store.reading():
            nu = self.credential.read(authorization)
            slots = self._slots(self._record(nu).root)
        stopped = sum(s.state == REVOKED for s in slots)
        theirs = sum(s.holder != nu and s.state != REVOKED for s in slots)
        return Revoked(stopped + theirs, len(slots) - stopped - theirs)


class CountsWhatRan(CapLeaseSqlite):
    def ledger_class(self) -> type[CapLease]:
        return AnswersWithNumbers


class OwnClock(CapLeaseSqlite):
    """Correct, and reads the machine's clock instead of the one it is given."""

    declaration = replace(
        CapLeaseSqlite.declaration,
        facts=replace(CapLeaseSqlite.declaration.facts, clock="node"),
    )

    def open(self, store: Any, env: Any) -> CapLease:
        ledger = super().open(store, env)
        ledger.env = MachineTime(env)
        return ledger


class MachineTime:
    """An ``env`` whose clock is the machine's."""

    def __init__(self, env: Any) -> None:
        self._env = env

    def now(self) -> float:
        return time.time()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._env, name)


class OwnClockThatNeverExpires(OwnClock):
    def ledger_class(self) -> type[CapLease]:
        return NeverExpires


class _Extends(UseCounter):
    """Whoever presents the confirmation again says how long it is good for."""

    def approve(self, *asked: Any) -> None:
        super().approve(*asked)
        _, _, said, expires_s = asked
        move = "UPDATE approval SET expires_s = ? WHERE event = ?"
        with self._transaction() as db:
            db.execute(move, (expires_s, said.event))


class Extends(CounterTarget):
    """Its t_e is the last that anybody asked for."""

    library = _Extends


class _Floors(UseCounter):
    """t_e is kept in whole seconds."""

    def approve(self, *asked: Any) -> None:
        call, context, said, expires_s = asked
        kept_s = None if expires_s is None else int(expires_s)
        super().approve(call, context, said, kept_s)


class Floors(CounterTarget):
    """It expires up to a second before its time, and says that it has."""

    library = _Floors
    declaration = replace(
        CounterTarget.declaration,
        claims={
            **CounterTarget.declaration.claims,
            "precise_codes": "Its words are to be trusted.",
        },
    )
