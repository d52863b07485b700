"""take-then-check: the unit is taken first, and who asks and for what is looked at afterwards.

Changed: Prepare admits whoever names the record, commits that, and only then compares call and
context with what was approved. The answer is a proper refusal; the unit stays taken. Anybody who
has seen the credential can use the owner's approval up without doing anything.

Real class: rate limits and coupons that count before they validate, ``INCR`` first and the check of
the signature after it; validation in a hook that runs behind the COMMIT.
"""

from __future__ import annotations

from dataclasses import replace

from ..caplease.denials import refused
from ..caplease.ledger import CapLease
from ..caplease.prepare import Request
from ..caplease.records import read_context
from ..caplease.target import CapLeaseSqlite
from ..replies import Replayed
from ..terms import Admission, TargetName


class TakesFirst(CapLease):
    """Take, commit, compare."""

    def _admit(self, request: Request) -> Admission | Replayed:
        with self.store.reading():
            record = self._record(request.nu)
        approved = replace(request, sigma=record.sigma, context=read_context(record.chi))
        admitted = super()._admit(approved)
        record.check_presenter(request.context)
        if record.sigma != request.sigma:
            raise refused("wrong_action")
        return admitted


class TakeThenCheck(CapLeaseSqlite):
    """The target ``builtin:broken/take-then-check``."""

    name = TargetName("admitone", "broken/take-then-check", "1")
    convicted_by: tuple[str, ...] = ("AO702",)
    never_by: tuple[str, ...] = (
        "AO101",
        "AO102",
        "AO103",
        "AO104",
        "AO201",
        "AO202",
        "AO203",
        "AO204",
        "AO304",
        "AO704",
    )

    def ledger_class(self) -> type[CapLease]:
        return TakesFirst
