"""commit-asks-again: Commit looks at revocation and expiry once more.

Changed: a use that was admitted in time is turned away at its Commit when its record was revoked or
has expired since. Its effect stands at the sink; its slot stays Prepared for ever, and recovery
hands it out again and again.

Real class: the permission check of a decorator on every endpoint, the finishing one included; a
token that is verified again in the callback.
"""

from __future__ import annotations

from ..caplease.ledger import CapLease
from ..caplease.store import Found
from ..caplease.target import CapLeaseSqlite
from ..terms import Admission, Receipt, TargetName


class AsksAgain(CapLease):
    """What was admitted must still be allowed."""

    def _check_evidence(
        self, found: Found, attempt: str, admission: Admission, receipt: Receipt
    ) -> None:
        super()._check_evidence(found, attempt, admission, receipt)
        self._record(admission.record).check_alive(self._now())


class CommitAsksAgain(CapLeaseSqlite):
    """The target ``builtin:broken/commit-asks-again``."""

    name = TargetName("admitone", "broken/commit-asks-again", "1")
    convicted_by: tuple[str, ...] = ("AO301", "AO404")
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
        "AO704",
        "AO801",
    )

    def ledger_class(self) -> type[CapLease]:
        return AsksAgain
