"""MP8, principal-not-checked-at-prepare: whoever has the credential is its holder.

Changed: Prepare verifies the manifest and the call, and not who presents them: executor, session,
task and epochs are compared when the record is issued, and never again. A stolen manifest is as
good as an own one.

Real class: bearer tokens, authorization codes without a binding to their client, approvals that
are looked up by id and not by owner.
"""

from __future__ import annotations

from dataclasses import replace

from ..caplease.ledger import CapLease
from ..caplease.prepare import Free, Request
from ..caplease.records import read_context
from ..caplease.target import CapLeaseSqlite
from ..replies import Replayed
from ..terms import Admission, TargetName


class Bearer(CapLease):
    """Having is being."""

    def _examine(self, request: Request) -> Free | Admission | Replayed:
        record = self._lock(request.nu)
        return super()._examine(replace(request, context=read_context(record.chi)))


class MP8(CapLeaseSqlite):
    """The target ``builtin:broken/MP8``."""

    name = TargetName("admitone", "broken/MP8", "1")
    convicted_by: tuple[str, ...] = ("AO204",)
    never_by: tuple[str, ...] = (
        "AO101",
        "AO102",
        "AO103",
        "AO104",
        "AO201",
        "AO202",
        "AO203",
        "AO303",
        "AO304",
        "AO704",
        "AO801",
    )

    def ledger_class(self) -> type[CapLease]:
        return Bearer
