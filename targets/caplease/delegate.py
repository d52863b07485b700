"""Delegate and Close: a child under the same authorization, with some of its parent's slots.

The child has sigma, e_u and t_e of its parent, and its own, narrower chi. It gets no budget of its
own: slots change their holder, in the transaction that makes the child, and unused ones change it
back when the child is closed. So conservation needs no arithmetic.
"""

from __future__ import annotations

import json
import secrets
from dataclasses import replace

from sqlalchemy import bindparam, insert, select, update

from ..replies import Done
from ..terms import Authorization, Budget, Context
from .chain import Entry
from .denials import answering, lost_race, refused
from .records import (
    Record,
    check_budget,
    check_context,
    read_context,
    record_from,
    write_context,
)
from .revoke import Revoking
from .schema import ISSUED, auth, slot

_LIVE_CHILD = select(auth).where(
    auth.c.parent == bindparam("nu"),
    auth.c.parent != "",
    auth.c.revoked == 0,
    auth.c.chi == bindparam("chi"),
)
_MAKE_CHILD = insert(auth)
_MOVE = (
    update(slot)
    .where(slot.c.nu == bindparam("root"), slot.c.j == bindparam("number"))
    .where(slot.c.state == ISSUED, slot.c.holder == bindparam("giver"))
    .values(holder=bindparam("taker"))
)


class Delegating(Revoking):
    """The ``delegate`` and ``close`` operations; both go down a record's family, as Revoke does."""

    @answering
    def delegate(
        self, authorization: Authorization, context: Context, budget: Budget
    ) -> Authorization:
        """A child for this context; the one that lives already, if it was asked for before."""
        nu = self.credential.read(authorization)
        units = check_budget(budget)
        check_context(context)
        with self.store.writing():
            parent = self._lock(nu)
            parent.check_alive(self._now())
            self._check_child(context, units, parent)
            child = self._live_child(parent, context, units)
            if child is None:
                child = self._make_child(parent, context, units)
            return self._granted(child)

    @answering
    def close(self, authorization: Authorization) -> Done:
        """Give back what the child and its own children did not use; a second time is done too."""
        nu = self.credential.read(authorization)
        with self.store.writing():
            child = self._lock(nu)
            if not child.parent:
                raise refused("invalid", "only a child can be closed")
            family = self._family(child)
            for found in self._slots(child.root):
                if found.holder in family and found.state == ISSUED:
                    self._move(child.root, found.j, found.holder, child.parent)
            if self._flag(family):
                self._append(Entry(child.nu, None, "close"))
        return Done()

    def _check_child(self, context: Context, units: int, parent: Record) -> None:
        """Session and task stay or become more special ("s" to "s/part"); epochs stay."""
        wider = read_context(parent.chi)
        if not (_below(context.session, wider.session) and _below(context.task, wider.task)):
            raise refused("widened", "session or task")
        ours = json.dumps([wider.policy_epoch, wider.schema_epoch])
        if ours != json.dumps([context.policy_epoch, context.schema_epoch]):
            raise refused("wrong_epoch")
        if units > parent.budget:
            raise refused("widened", "budget")

    def _live_child(self, parent: Record, context: Context, budget: int) -> Record | None:
        row = self.store.one(_LIVE_CHILD, nu=parent.nu, chi=write_context(context))
        if row is None:
            return None
        child = record_from(row)
        if child.budget != budget:
            raise refused("duplicate", "this context has a child with another budget")
        return child

    def _make_child(self, parent: Record, context: Context, budget: int) -> Record:
        free = [
            found.j
            for found in self._slots(parent.root)
            if found.holder == parent.nu and found.state == ISSUED
        ]
        if len(free) < budget:
            raise refused("exhausted", f"{len(free)} left")
        child = replace(
            parent,
            nu=secrets.token_hex(16),
            parent=parent.nu,
            budget=budget,
            chi=write_context(context),
        )
        self.store.run(_MAKE_CHILD, **child.values())
        self._reserve(parent, child, free[:budget])
        self._append(Entry(child.nu, None, "delegate"))
        return child

    def _reserve(self, parent: Record, child: Record, numbers: list[int]) -> None:
        """The child's slots are the parent's, and the parent has them no longer."""
        for j in numbers:
            self._move(parent.root, j, parent.nu, child.nu)

    def _move(self, root: str, number: int, giver: str, taker: str) -> None:
        if self.store.run(_MOVE, root=root, number=number, giver=giver, taker=taker) != 1:
            raise lost_race()


def _below(name: str, ancestor: str) -> bool:
    return name == ancestor or name.startswith(f"{ancestor}/")
