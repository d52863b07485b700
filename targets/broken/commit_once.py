"""commit-once: Commit wants a unit that is Prepared, and nothing else.

Changed: a unit that is committed is refused its Commit, with the very receipt that it was committed
with. Whoever lost the answer, and asks once more, is told that its effect does not count.

Real class: ``UPDATE ... WHERE state = 'Prepared'`` with an error for no rows; a unique index on the
receipt, whose violation is passed on.
"""

from __future__ import annotations

from ..caplease.denials import refused
from ..caplease.ledger import CapLease
from ..caplease.store import Found
from ..caplease.target import CapLeaseSqlite
from ..terms import Admission, Receipt, TargetName


class Once(CapLease):
    """A repetition is an error."""

    def _check_evidence(
        self, found: Found, attempt: str, admission: Admission, receipt: Receipt
    ) -> None:
        super()._check_evidence(found, attempt, admission, receipt)
        if found.state != "Prepared":
            raise refused("not_prepared")


class CommitOnce(CapLeaseSqlite):
    """The target ``builtin:broken/commit-once``."""

    name = TargetName("admitone", "broken/commit-once", "1")
    convicted_by: tuple[str, ...] = ("AO305",)
    never_by: tuple[str, ...] = (
        "AO101",
        "AO102",
        "AO103",
        "AO104",
        "AO106",
        "AO201",
        "AO203",
        "AO304",
        "AO401",
        "AO402",
        "AO701",
        "AO704",
        "AO801",
        "AO802",
    )

    def ledger_class(self) -> type[CapLease]:
        return Once
