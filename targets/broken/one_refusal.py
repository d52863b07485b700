"""one-refusal: whatever is over is answered as "exhausted".

Changed: that nothing more can be had is one answer with one code, whether the units are used, the
record is revoked or t_e has passed. Nothing wrong is admitted; but the user who revoked is told
that everything was used, and goes to look for effects that never were.

Real class: one UPDATE with all conditions in its WHERE, and one error for "no row was changed".
"""

from __future__ import annotations

from ..caplease.denials import Denied, refused
from ..caplease.ledger import CapLease
from ..caplease.prepare import Free, Request
from ..caplease.target import CapLeaseSqlite
from ..replies import Refused, Replayed
from ..terms import Admission, TargetName


class OneCode(CapLease):
    """No is no."""

    def _examine(self, request: Request) -> Free | Admission | Replayed:
        try:
            return super()._examine(request)
        except Denied as denied:
            if isinstance(denied.reply, Refused) and denied.reply.code in ("revoked", "expired"):
                raise refused("exhausted") from None
            raise


class OneRefusal(CapLeaseSqlite):
    """The target ``builtin:broken/one-refusal``."""

    name = TargetName("admitone", "broken/one-refusal", "1")
    convicted_by: tuple[str, ...] = ("AO406",)
    never_by: tuple[str, ...] = (
        "AO101",
        "AO102",
        "AO103",
        "AO104",
        "AO201",
        "AO203",
        "AO304",
        "AO401",
        "AO402",
        "AO403",
        "AO405",
        "AO704",
        "AO801",
    )

    def ledger_class(self) -> type[CapLease]:
        return OneCode
