"""MP6, prepare-retry-takes-next-slot: Prepare does not know that it was asked before.

Changed: the search for a slot that the attempt already has is left out, so a retry after a lost
reply takes the next free slot. With b = 2 one request then holds both, recovery sends the first and
the client the second: two effects for one request, while every total stays within b.

Real class: a retried ``POST`` without an idempotency token against a counter of remaining uses.
"""

from __future__ import annotations

import secrets

from ..caplease.ledger import CapLease
from ..caplease.records import Record
from ..caplease.store import Found
from ..caplease.target import CapLeaseSqlite
from ..terms import TargetName


class NoAttempts(CapLease):
    """Every Prepare is a new request."""

    def _choose(self, record: Record, attempt: str) -> Found | None:
        return super()._choose(record, f"{attempt} {secrets.token_hex(8)}")


class MP6(CapLeaseSqlite):
    """The target ``builtin:broken/MP6``."""

    name = TargetName("admitone", "broken/MP6", "1")
    convicted_by: tuple[str, ...] = ("AO106", "AO303", "AO803")
    never_by: tuple[str, ...] = (
        "AO101",
        "AO102",
        "AO103",
        "AO104",
        "AO203",
        "AO702",
        "AO704",
        "AO801",
    )

    def ledger_class(self) -> type[CapLease]:
        return NoAttempts
