"""delegate-as-asked: a child gets the context that was asked for.

Changed: Delegate compares nothing of the child with its parent but what is left of the budget. An
executor whose approval is for one session and task hands itself another one, or another epoch.

Real class: a scope copied from the request into the token that is minted from another one ("token
exchange" without a check of the subset), a missing scope that means all of them.
"""

from __future__ import annotations

from ..caplease.denials import answering
from ..caplease.ledger import CapLease
from ..caplease.records import check_budget, check_context
from ..caplease.target import CapLeaseSqlite
from ..terms import Authorization, Budget, Context, TargetName


class TakesAnyChild(CapLease):
    """As wide as you like."""

    @answering
    def delegate(
        self, authorization: Authorization, context: Context, budget: Budget
    ) -> Authorization:
        nu = self.credential.read(authorization)
        units = check_budget(budget)
        check_context(context)
        with self.store.writing():
            parent = self._lock(nu)
            parent.check_alive(self._now())
            child = self._live_child(parent, context, units)
            return self._granted(child or self._make_child(parent, context, units))


class DelegateAsAsked(CapLeaseSqlite):
    """The target ``builtin:broken/delegate-as-asked``."""

    name = TargetName("admitone", "broken/delegate-as-asked", "1")
    convicted_by: tuple[str, ...] = ("AO501",)
    never_by: tuple[str, ...] = (
        "AO101",
        "AO102",
        "AO103",
        "AO104",
        "AO201",
        "AO203",
        "AO502",
        "AO503",
        "AO504",
        "AO704",
        "AO801",
    )

    def ledger_class(self) -> type[CapLease]:
        return TakesAnyChild
