"""delegate-as-asked: a child gets the context that was asked for.

Changed: Delegate compares nothing of the child with its parent but what is left of the budget. An
executor whose approval is for one session and task hands itself another one, or another epoch.

Real class: a scope copied from the request into the token that is minted from another one ("token
exchange" without a check of the subset), a missing scope that means all of them.
"""

from __future__ import annotations

from ..caplease.ledger import CapLease
from ..caplease.records import Record
from ..caplease.target import CapLeaseSqlite
from ..terms import Context, TargetName


class TakesAnyChild(CapLease):
    """As wide as you like."""

    def _check_child(self, context: Context, units: int, parent: Record) -> None:
        """What is left of the budget is looked at where it is reserved."""


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
