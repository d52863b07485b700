"""Copies of the audit head and count, as they were made while the schedule ran."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...chaos.events import AuditRead
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
