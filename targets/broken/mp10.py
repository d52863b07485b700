"""MP10, bound-by-id-only: whoever names the record may do anything with it.

Changed: Prepare looks the record up and compares neither the call nor the context that is presented
with it; an admission does not say what is to be sent, and Commit takes any receipt under the slot's
key. Counting is right: one slot, one key, one effect. It may only be another effect than the one
that was approved, by another executor.

Real class: an approval id checked for "exists and is unused"; ``TOCTOU`` between what was displayed
and what is executed; a signed URL whose body is not signed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..caplease.commit import check_key
from ..caplease.ledger import CapLease
from ..caplease.prepare import Free, Request
from ..caplease.records import Record, read_context
from ..caplease.store import Found
from ..caplease.target import CapLeaseSqlite
from ..replies import Replayed
from ..terms import Admission, Receipt, TargetName


class ByIdOnly(CapLease):
    """What was presented is taken to be what was approved."""

    def _examine(self, request: Request) -> Free | Admission | Replayed:
        record = self._lock(request.nu)
        approved = replace(request, sigma=record.sigma, context=read_context(record.chi))
        return super()._examine(approved)

    def _admission(self, slot_: Any, record: Record) -> Admission:
        return replace(super()._admission(slot_, record), call=None)

    def _check_evidence(
        self, found: Found, attempt: str, admission: Admission, receipt: Receipt
    ) -> None:
        check_key(found, attempt, admission, receipt)


class MP10(CapLeaseSqlite):
    """The target ``builtin:broken/MP10``."""

    name = TargetName("admitone", "broken/MP10", "1")
    convicted_by: tuple[str, ...] = ("AO202", "AO204", "AO205")
    never_by: tuple[str, ...] = (
        "AO101",
        "AO102",
        "AO103",
        "AO104",
        "AO201",
        "AO203",
        "AO303",
        "AO304",
        "AO704",
        "AO801",
    )

    def ledger_class(self) -> type[CapLease]:
        return ByIdOnly
