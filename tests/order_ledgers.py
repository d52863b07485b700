"""Ledgers that are wrong about order, delegation, leases and releases: small, and for tests alone.

Each is the reference with one thing changed. The shipped ``broken/…`` are convicted by their own
test; these are the kinds that those leave out.
"""

from __future__ import annotations

import secrets
import time
from dataclasses import replace
from typing import Any

from sqlalchemy import bindparam, insert, null, update

from admitone.targets.caplease.chain import Entry
from admitone.targets.caplease.delegate import _check_narrower
from admitone.targets.caplease.denials import answering, refused
from admitone.targets.caplease.ledger import CapLease
from admitone.targets.caplease.prepare import CHOOSE, TAKE, Free, Request
from admitone.targets.caplease.records import Record, read_context, write_context
from admitone.targets.caplease.schema import ISSUED, auth, slot
from admitone.targets.caplease.target import CapLeaseSqlite
from admitone.targets.replies import Done, Replayed
from admitone.targets.terms import Admission, Authorization, Context


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


class MR1(CapLeaseSqlite):
    def ledger_class(self) -> type[CapLease]:
        return FlagInAnotherRow


class MX1(CapLeaseSqlite):
    def ledger_class(self) -> type[CapLease]:
        return NeverExpires


class TakesAnyChild(CapLease):
    """Delegate compares nothing with the parent but what is left."""

    @answering
    def delegate(self, authorization: Authorization, context: Context, budget: Any) -> Any:
        nu = self.credential.read(authorization)
        with self.store.writing():
            parent = self._lock(nu)
            parent.check_alive(self.env.now())
            child = self._live_child(parent, context, budget)
            return self._granted(child or self._make_child(parent, context, budget))


class NothingReserved(CapLease):
    """MD1: a child uses whatever is free, and its parent too."""

    take = TAKE.where(slot.c.state == ISSUED)

    def _reserve(self, parent: Record, child: Record, numbers: list[int]) -> None:
        return

    def _choose(self, record: Record, attempt: str) -> Any:
        return self.store.one(CHOOSE, root=record.root, nu=record.root, attempt=attempt)


class ReservedLater(CapLease):
    """MD2: what is left is read in a transaction before the one that reserves it."""

    @answering
    def delegate(self, authorization: Authorization, context: Context, budget: Any) -> Any:
        nu = self.credential.read(authorization)
        with self.store.reading():
            parent = self._lock(nu)
            parent.check_alive(self.env.now())
            _check_narrower(context, read_context(parent.chi))
            if (born := self._live_child(parent, context, budget)) is not None:
                return self._granted(born)
            free = [s.j for s in self._slots(parent.root) if s.holder == nu and s.state == ISSUED]
            if len(free) < budget:
                raise refused("exhausted")
        child = replace(
            parent,
            nu=secrets.token_hex(16),
            parent=nu,
            budget=budget,
            chi=write_context(context),
        )
        with self.store.writing():
            self.store.run(insert(auth), **child.values())
            for j in free[:budget]:
                self.store.run(_TO, root=parent.root, number=j, taker=child.nu)
            self._append(Entry(child.nu, None, "delegate"))
            return self._granted(child)


_TO = (
    update(slot)
    .where(slot.c.nu == bindparam("root"), slot.c.j == bindparam("number"))
    .values(holder=bindparam("taker"))
)
_FREE = (
    update(slot)
    .where(slot.c.holder == bindparam("giver"))
    .values(holder=bindparam("taker"), state=ISSUED, attempt=null(), k=null(), receipt=null())
)


class RevokesOneRecord(CapLease):
    """Revoke does not look for descendants."""

    def _family(self, record: Record) -> set[str]:
        return {record.nu}


class ClosesForNothing(CapLease):
    """A closed child keeps what it did not use."""

    def _move(self, root: str, number: int, giver: str, taker: str) -> None:
        if self._closing:
            return
        super()._move(root, number, giver, taker)

    _closing = False

    def close(self, authorization: Authorization) -> Any:
        self._closing = True
        try:
            return super().close(authorization)
        finally:
            self._closing = False


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


class AnyChild(CapLeaseSqlite):
    def ledger_class(self) -> type[CapLease]:
        return TakesAnyChild


class MD1(CapLeaseSqlite):
    def ledger_class(self) -> type[CapLease]:
        return NothingReserved


class MD2(CapLeaseSqlite):
    def ledger_class(self) -> type[CapLease]:
        return ReservedLater


class OneRecord(CapLeaseSqlite):
    def ledger_class(self) -> type[CapLease]:
        return RevokesOneRecord


class NoRefund(CapLeaseSqlite):
    def ledger_class(self) -> type[CapLease]:
        return ClosesForNothing


class FullRefund(CapLeaseSqlite):
    def ledger_class(self) -> type[CapLease]:
        return ClosesForEverything


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
