"""What a reply is worth: whether it is one of the contract, and what its client may believe.

An adapter is somebody else's code. A slot named by an integer, or a grant of another operation,
would make checks compare what cannot be compared; it is said once, clearly, and never judged.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from ..targets.replies import (
    Busy,
    Done,
    NotGranted,
    Recovered,
    Refused,
    Replayed,
    Revoked,
    Unknown,
)
from ..targets.terms import (
    Admission,
    AuditView,
    Authorization,
    Call,
    Counts,
    Receipt,
    SlotView,
    View,
)
from .calls import Answer

GRANTS: Final[dict[str, type]] = {
    "propose": Authorization,
    "issue": Authorization,
    "prepare": Admission,
    "commit": Done,
    "release": Done,
    "renew": Done,
    "revoke": Revoked,
    "recover": Recovered,
    "delegate": Authorization,
    "close": Done,
    "audit": AuditView,
    "effect": Receipt,
}
_OPTIONAL_TEXT: Final = (str, type(None))
_STATES: Final = ("issued", "prepared", "committed", "revoked", "in_doubt")


def answer_of(op: str, value: Any, effects: int, wrote: int, *, works: bool = False) -> Answer:
    """What the client may believe: an answer cannot be more definite than what was seen.

    ``effects``: how often the effect was entered and may have been applied; ``wrote``: how many
    durable writes the call made; ``works``: the target has a worker, which may send what a call
    left. Busy after a write, and Busy or Refused after an effect, are Unknown; a guarded call that
    never entered the effect is Replayed, or Unknown where a worker may enter it later.
    """
    if isinstance(value, Unknown):
        return Answer("unknown", value)
    if isinstance(value, Busy):
        doubtful = wrote or effects
        return Answer("unknown", value, "corrected") if doubtful else Answer("busy", value)
    if isinstance(value, Refused):
        return Answer("unknown", value, "corrected") if effects else Answer("refused", value)
    if isinstance(value, Replayed):
        return Answer("replayed", value)
    if op == "execute" and effects == 0:
        left = Answer("unknown", Unknown("nothing was sent: left to work()"), "corrected")
        return left if works else Answer("replayed", Replayed())
    return Answer("granted", value)


def malformed(op: str, value: Any) -> str | None:
    """What is wrong with the reply of an operation; None if nothing is."""
    if isinstance(value, NotGranted):
        return _malformed_denial(value)
    expected = GRANTS.get(op)
    if expected is None:
        return None
    if not isinstance(value, expected):
        return (
            f"{op} answered {_shown(value)}; it must answer {expected.__name__} (granted) or "
            "Replayed, Refused, Busy or Unknown"
        )
    if isinstance(value, Admission):
        return _malformed_admission(op, value)
    if isinstance(value, Authorization) and type(value.record) is not str:
        return f"{op}: Authorization.record is {_shown(value.record)}; it must be a text"
    if isinstance(value, Done) and not _receipt_or_none(value.receipt):
        return f"{op}: Done.receipt is {_shown(value.receipt)}; it must be a Receipt or None"
    if isinstance(value, Recovered):
        return _malformed_recovered(value)
    if isinstance(value, AuditView) and not (
        type(value.head) is str and type(value.count) is int and type(value.chain_ok) is bool
    ):
        return f"audit: {_shown(value)}: head is a text, count a number, chain_ok a bool"
    if isinstance(value, Revoked):
        return _malformed_revoked(value)
    return None


def malformed_view(view: Any) -> str | None:
    """The same for what ``inspect`` answers."""
    if view is None:
        return None
    if not isinstance(view, View):
        return f"inspect answered {_shown(view)}; it must answer View or None"
    if view.known and view.slots is None and view.counts is None:
        return "inspect answered a known record without slots or counts; give one of them"
    if type(view.known) is not bool:
        return f"inspect: View.known is {_shown(view.known)}; it must be True or False"
    if view.slots is not None and not isinstance(view.slots, tuple):
        return f"inspect: View.slots is {_shown(view.slots)}; it must be a tuple of SlotView"
    for slot in view.slots or ():
        if type(slot) is not SlotView or type(slot.slot) is not str or slot.state not in _STATES:
            return f"inspect: {_shown(slot)}: slot is a text, state one of the contract's five"
    counts = view.counts
    if counts is None:
        return None
    if not isinstance(counts, Counts):
        return f"inspect: View.counts is {_shown(counts)}; it must be Counts or None"
    if not all(type(getattr(counts, name)) is int for name in _STATES):
        return f"inspect: {_shown(counts)}: counts are whole numbers"
    return None


def _seconds_or_none(value: Any) -> bool:
    return value is None or (type(value) in (int, float) and 0 <= value < math.inf)


def _receipt_or_none(value: Any) -> bool:
    return value is None or isinstance(value, Receipt)


def _malformed_denial(value: Any) -> str | None:
    if isinstance(value, Replayed) and not _receipt_or_none(value.receipt):
        return f"Replayed.receipt is {_shown(value.receipt)}; it must be a Receipt or None"
    if isinstance(value, Refused) and type(value.code) is not str:
        return f"Refused.code is {_shown(value.code)}; it must be a text"
    if isinstance(value, Busy) and not _seconds_or_none(value.retry_after_s):
        return f"Busy.retry_after_s is {_shown(value.retry_after_s)}; it must be seconds or None"
    return None


def _malformed_admission(op: str, value: Admission) -> str | None:
    if type(value.record) is not str:
        return f"{op}: Admission.record is {_shown(value.record)}; it must be a text"
    for name in ("slot", "key", "attempt"):
        if type(getattr(value, name)) not in _OPTIONAL_TEXT:
            found = _shown(getattr(value, name))
            return f"{op}: Admission.{name} is {found}; it must be a text or None"
    call = value.call
    if call is not None and not (
        type(call) is Call and type(call.tool) is str and isinstance(call.args, Mapping)
    ):
        return f"{op}: Admission.call is {_shown(call)}; it must be a Call or None"
    return None


def _malformed_recovered(value: Recovered) -> str | None:
    for part in (value.resume, value.settled):
        if not isinstance(part, tuple):
            return "recover: resume and settled must be tuples of Admission"
        for admission in part:
            if not isinstance(admission, Admission):
                return f"recover answered {_shown(admission)} where an Admission must be"
            if problem := _malformed_admission("recover", admission):
                return problem
    return None


def _malformed_revoked(value: Revoked) -> str | None:
    for name in ("stopped", "too_late"):
        part = getattr(value, name)
        named = isinstance(part, tuple) and all(type(slot) is str for slot in part)
        if not (part is None or type(part) is int or named):
            return f"revoke: {name} is {_shown(part)}; it must be slot names, a number or None"
    return None


def _shown(value: object) -> str:
    text = f"{type(value).__name__} {value!r}"
    return text if len(text) <= 160 else text[:157] + "..."
