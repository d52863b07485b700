"""Events and replies in a few words, as a lane diagram tells them.

Everything here may come from a target, so every piece is cleaned and bounded. Keys are shortened
as far as they stay different from each other within one history.
"""

from __future__ import annotations

from collections.abc import Iterable
from reprlib import Repr
from typing import Final

from ..chaos.events import Killed, Read, Replied, SinkRequested, Stopped
from ..scenarios.history import History
from ..targets.replies import Busy, Done, Recovered, Refused, Replayed, Revoked, Unknown
from ..targets.terms import Admission, AuditView, Authorization, View
from .text import clean, shorten

_WHY: Final = {
    "dropped": "the reply was dropped",
    "dead": "the node died before it replied",
    "silent": "no reply in time",
    "unclassified": "an exception that nobody classified",
    "malformed": "no reply of the contract",
    "corrected": "although something was written or sent",
}
_SHORTEST_KEY: Final = 4
_LONGEST_KEY: Final = 24

_repr = Repr()
_repr.maxstring = _repr.maxother = 80
_repr.maxlevel = 3


class Words:
    """The vocabulary of one history."""

    def __init__(self, history: History) -> None:
        self._length = _distinguishing(_keys(history))

    def key(self, key: str | None) -> str:
        """``9d1f…``, or as it is where it is short."""
        if key is None:
            return "no key"
        if len(key) <= self._length + 4:
            return f"key {clean(key, 40)}"
        return f"key {clean(key[: self._length], 40)}…"

    def admission(self, admission: Admission) -> str:
        """``slot 0 key 9d1f…``, as far as the ledger says so."""
        parts = [f"slot {clean(admission.slot, 24)}"] if admission.slot is not None else []
        if admission.key is not None:
            parts.append(self.key(admission.key))
        return " ".join(parts) or f"record {clean(admission.record, 24)}"

    def reply(self, reply: Replied) -> str:
        """``granted slot 0 key 9d1f…``, ``refused exhausted``, ``unknown: the node died …``."""
        said = self._value(reply.value)
        word = "" if said.startswith(reply.outcome) else reply.outcome
        parts = [word, said]
        left = reply.why == "corrected" and isinstance(reply.value, Unknown)  # says why by itself
        if reply.why in _WHY and not left:
            parts.append(f"({_WHY[reply.why]})")
        if reply.effects > 1 or (reply.effects and reply.outcome != "granted"):
            parts.append(f"({reply.effects} entries into the effect)")
        if reply.detail:
            parts.append(f"[{clean(reply.detail, 120)}]")
        return " ".join(part for part in parts if part)

    def _value(self, value: object) -> str:
        match value:
            case None | Done():
                return ""
            case Authorization(record=record, budget=budget):
                stated = "" if budget is None else f" b={clean(_repr.repr(budget), 24)}"
                return f"record {clean(record, 24)}{stated}"
            case Admission():
                return self.admission(value)
            case Refused(code=code):
                return f"refused {clean(code, 40)}"
            case Busy(cause=cause):
                return f"busy {clean(cause, 20)}"
            case Unknown() | Replayed():
                detail = value.detail if isinstance(value, Unknown) else ""
                return f"{type(value).__name__.lower()} {clean(detail, 80)}".rstrip()
            case Revoked(stopped=stopped, too_late=too_late):
                said = {"stopped": stopped, "too late": too_late}
                return ", ".join(
                    f"{name} {clean(_repr.repr(count), 40)}"
                    for name, count in said.items()
                    if count is not None
                )
            case Recovered(resume=resume, settled=settled):
                return f"resume {self._several(resume)}, settled {self._several(settled)}"
            case AuditView(count=count, chain_ok=chain_ok):
                return f"count {count}, chain {'ok' if chain_ok else 'BROKEN'}"
        return clean(_repr.repr(value), 120)

    def _several(self, admissions: Iterable[Admission]) -> str:
        every = tuple(admissions)
        shown = "; ".join(self.admission(one) for one in every[:3])
        more = f" and {len(every) - 3} more" if len(every) > 3 else ""
        return f"{len(every)} ({shown}{more})" if every else "0"

    def read(self, read: Read) -> str:
        """What ``inspect`` saw, with the ledger's own words for the states."""
        if read.problem:
            return f"could not be read: {clean(read.problem, 120)}"
        return "cannot say" if read.view is None else self._view(read.view)

    def _view(self, view: View) -> str:
        if not view.known:
            return "no such record"
        revoked = " revoked" if view.revoked else ""
        if view.slots is not None:
            shown = [
                f"{clean(slot.slot, 16)}:{clean(slot.word or slot.state, 16)}"
                + (f" {self.key(slot.key)}" if slot.key is not None else "")
                for slot in view.slots[:6]
            ]
            more = [f"and {len(view.slots) - 6} more"] if len(view.slots) > 6 else []
            return "slots " + (", ".join(shown + more) or "none") + revoked
        counts = view.counts
        if counts is None:
            return f"known{revoked}"
        stated = {
            "issued": counts.issued,
            "prepared": counts.prepared,
            "committed": counts.committed,
            "revoked": counts.revoked,
            "in doubt": counts.in_doubt,
        }
        return ", ".join(f"{n} {state}" for state, n in stated.items() if n) or "nothing left"

    def request(self, request: SinkRequested) -> str:
        """A request as it reached the sink."""
        what = "lookup" if request.lookup else clean(request.tool, 40)
        held = ", held on its way" if request.held else ""
        return f"{what} {self.key(request.key)}{held}"


def place(stop: Stopped) -> str:
    """``prepare.write1.after (COMMIT)``."""
    text = f" ({shorten(clean(stop.text, 160), 60)})" if stop.text else ""
    return f"{clean(stop.point, 60)}{text}"


def death(killed: Killed, stop: Stopped | None) -> str:
    """How a node ended."""
    where = f" at {place(stop)}" if stop is not None else ""
    left = f", {killed.left} processes of its own with it" if killed.left else ""
    if killed.injected:
        return f"killed{where}{left}"
    how = f"died of signal {killed.signal}" if killed.signal else "left by itself"
    return f"{how}{where}{left}, no fault of the plan"


def _keys(history: History) -> set[str]:
    keys: set[str] = set()
    for event in history:
        match event:
            case SinkRequested(key=str(key)):
                keys.add(key)
            case Replied(value=Admission(key=str(key))):
                keys.add(key)
    return keys


def _distinguishing(keys: set[str]) -> int:
    for length in range(_SHORTEST_KEY, _LONGEST_KEY):
        if len({key[:length] for key in keys}) == len(keys):
            return length
    return _LONGEST_KEY
