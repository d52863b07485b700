"""MD2, reserved-later: Delegate reads what is left in one transaction and takes it in another.

Changed: the slots for a child are chosen before the transaction that makes it, and moved in that
one without a look at who has them by then. Two Delegates at once choose the same slots, or one
takes what its parent has used meanwhile. One at a time, everything is right.

Real class: ``if account.available >= amount: reserve(amount)``, a check in the handler and an
UPDATE in the job that it queues.
"""

from __future__ import annotations

import secrets
from dataclasses import replace
from typing import Final

from sqlalchemy import bindparam, insert, update

from ..caplease.chain import Entry
from ..caplease.denials import answering, refused
from ..caplease.ledger import CapLease
from ..caplease.records import check_budget, check_context, write_context
from ..caplease.schema import ISSUED, auth, slot
from ..caplease.target import CapLeaseSqlite
from ..terms import Authorization, Budget, Context, TargetName

_MAKE_CHILD: Final = insert(auth)
_MOVE: Final = (
    update(slot)
    .where(slot.c.nu == bindparam("root"), slot.c.j == bindparam("number"))
    .values(holder=bindparam("taker"))
)


class ReservedLater(CapLease):
    """Look, and then take."""

    @answering
    def delegate(
        self, authorization: Authorization, context: Context, budget: Budget
    ) -> Authorization:
        nu = self.credential.read(authorization)
        units = check_budget(budget)
        check_context(context)
        with self.store.reading():
            parent = self._lock(nu)
            parent.check_alive(self._now())
            self._check_child(context, units, parent)
            born = self._live_child(parent, context, units)
            free = [s.j for s in self._slots(parent.root) if s.holder == nu and s.state == ISSUED]
        if born is not None:
            return self._granted(born)
        if len(free) < units:
            raise refused("exhausted", f"{len(free)} left")
        child = replace(
            parent,
            nu=secrets.token_hex(16),
            parent=nu,
            budget=units,
            chi=write_context(context),
        )
        with self.store.writing():
            self.store.run(_MAKE_CHILD, **child.values())
            for j in free[:units]:
                self.store.run(_MOVE, root=parent.root, number=j, taker=child.nu)
            self._append(Entry(child.nu, None, "delegate"))
        return self._granted(child)


class MD2(CapLeaseSqlite):
    """The target ``builtin:broken/MD2``."""

    name = TargetName("admitone", "broken/MD2", "1")
    convicted_by: tuple[str, ...] = ("AO502",)
    never_by: tuple[str, ...] = (
        "AO101",
        "AO102",
        "AO103",
        "AO104",
        "AO201",
        "AO203",
        "AO501",
        "AO704",
        "AO801",
    )

    def ledger_class(self) -> type[CapLease]:
        return ReservedLater
