"""Ledgers that are wrong about order, delegation, leases and releases: small, and for tests alone.

Each is the reference with one thing changed. The shipped ``broken/…`` are convicted by their own
test; these are the kinds that those leave out.
"""

from __future__ import annotations

from typing import Any

from admitone.targets.caplease.ledger import CapLease
from admitone.targets.caplease.prepare import Free, Request
from admitone.targets.caplease.target import CapLeaseSqlite
from admitone.targets.replies import Replayed
from admitone.targets.terms import Admission


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
        from dataclasses import replace

        return replace(super()._lock(nu), te=None)


class MR1(CapLeaseSqlite):
    def ledger_class(self) -> type[CapLease]:
        return FlagInAnotherRow


class MX1(CapLeaseSqlite):
    def ledger_class(self) -> type[CapLease]:
        return NeverExpires
