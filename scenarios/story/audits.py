"""Copies of the audit head and count, and the operations that must have made the chain longer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from ...chaos.events import AuditRead
from ...targets.replies import Revoked
from ...targets.terms import AuditView
from ..history import History
from .calls import CallStory


@dataclass(frozen=True, slots=True)
class AuditStory:
    """One copy. ``began``: when the call that read it began, ``at``: when it was copied out."""

    moment: str
    view: AuditView
    began: int
    at: int


def audit_stories(history: History, calls: Mapping[int, CallStory]) -> tuple[AuditStory, ...]:
    """All copies, in order. One of a chain that the schedule itself altered (``moment`` starting
    with "tampered") is left out: there, the ledger is right to say that it does not verify."""
    asked = [call for call in calls.values() if call.op == "audit"]
    found = []
    for line in history.lines:
        event, seq = line.event, line.stamp.seq
        if isinstance(event, AuditRead) and not event.moment.startswith("tampered"):
            mine = [c.began for c in asked if c.invoked.node == event.node and c.began < seq]
            found.append(AuditStory(event.moment, event.view, mine[-1] if mine else seq, seq))
    return tuple(found)


def surely_changed(calls: Mapping[int, CallStory], stored: bool) -> Iterator[CallStory]:
    """Changes of the ledger that surely happened, each once: the first grant that was heard of.

    ``stored``: Issue writes. Where the same was asked before, and nobody heard of it, the change
    may be of that time: the call that is told then begins with the first that asked.
    """
    asked: dict[tuple[str | None, ...], int] = {}
    told: set[tuple[str | None, ...]] = set()
    fresh: set[tuple[str | None, str]] = set()  # admitted since, so no recovery settled them
    recovered = -1
    for call in calls.values():
        invoked = call.invoked
        about = invoked.admission
        unit = None if about is None else f"{about.record}/{about.slot}/{about.key}/{call.attempt}"
        what: tuple[str | None, ...] = (call.op, invoked.label, unit or call.owner)
        if call.op in ("issue", "revoke"):
            what = (call.op, invoked.label)
        began = asked.setdefault(what, call.began)
        if call.op == "recover":
            recovered = max(recovered, call.ended)
            fresh.clear()
        if what in told or not call.acknowledged:
            continue
        if call.op == "prepare" and began > recovered:
            fresh.add((invoked.label, call.owner))
        changed = {
            "issue": stored,
            "prepare": True,
            "execute": call.replied is not None and call.replied.effects > 0,
            "commit": recovered < 0 or (invoked.label, call.owner) in fresh,
            "release": True,
            "revoke": _stopped_some(call.value),
        }
        if changed.get(call.op, False):
            told.add(what)
            yield call if began == call.began else replace(call, began=began)


def _stopped_some(value: object) -> bool:
    if not isinstance(value, Revoked) or value.stopped is None:
        return False
    return value.stopped > 0 if isinstance(value.stopped, int) else len(value.stopped) > 0
