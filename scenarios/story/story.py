"""The story as a whole, and how it is derived from a history."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ...chaos.events import Approved, Killed, Phase, Released
from ...targets.declaration import Declaration, Facts
from ...targets.terms import Approval
from ..history import Header, History
from .audits import AuditStory, audit_stories
from .bookkeeping import fill_books
from .calls import CallStory, pair_calls
from .disturbances import Disturbance, find_disturbances
from .labels import LabelStory, bound_of
from .readings import trusted_readings
from .sinklog import SinkLog, read_sink

_FACT_CLAIMS = ("key", "attempt_identity", "slot_identity", "binds")


@dataclass(frozen=True)
class Story:
    """One history, understood. Checks read this and decide; nothing in here accuses."""

    history: History
    calls: dict[int, CallStory]
    sink: SinkLog
    labels: tuple[LabelStory, ...]
    disturbances: tuple[Disturbance, ...]
    kills: tuple[int, ...]
    errors: tuple[int, ...]
    phases: dict[str, int]

    @property
    def header(self) -> Header:
        return self.history.header

    @property
    def declaration(self) -> Declaration:
        return self.header.declaration

    @property
    def facts(self) -> Facts:
        return self.declaration.facts

    @property
    def idempotent(self) -> bool:
        """Effects at this sink count against the ledger, not against the harness."""
        return self.header.sink == "idempotent"

    @cached_property
    def audits(self) -> tuple[AuditStory, ...]:
        return audit_stories(self.history, self.calls)

    def claims(self, name: str) -> bool:
        """Whether the target makes this claim, or states the fact that is a claim too."""
        if name in _FACT_CLAIMS:
            return getattr(self.facts, name) not in (False, "none", ())
        return name in self.declaration.claims

    def killed_between(self, began: int, ended: int) -> bool:
        return any(began < seq < ended for seq in self.kills)

    def undisturbed(self, began: int, ended: int) -> bool:
        """No fault could reach anything between these moments."""
        return not any(d.began < ended and d.ended > began for d in self.disturbances)

    def keeps_until(self, began: int, ended: int) -> bool:
        """Nothing that the target does not claim to survive happened between these moments."""
        return self.claims("durable_process") or not self.killed_between(began, ended)


def tell(history: History) -> Story:
    """Derive the story of a valid history."""
    calls = pair_calls(history)
    sink = read_sink(history, calls)
    labels = dict(_labels(history))
    for call in calls.values():
        if call.invoked.label in labels:
            labels[call.invoked.label].calls.append(call)
    for effect in sink.effects:
        if effect.event.label in labels:
            labels[effect.event.label].effects.append(effect)
    for application in sink.applications:
        if application.label in labels:
            labels[application.label].applications.append(application)
    for reading in trusted_readings(history, calls):
        if reading.read.label in labels:
            labels[reading.read.label].readings.append(reading)
    fill_books(history, calls, sink, labels)
    phases: dict[str, int] = {}
    for line in history.lines:
        if isinstance(line.event, Phase):
            phases.setdefault(line.event.name, line.stamp.seq)
    return Story(
        history,
        calls,
        sink,
        tuple(labels.values()),
        find_disturbances(history, sink),
        tuple(x.stamp.seq for x in history.lines if isinstance(x.event, Killed)),
        tuple(
            x.stamp.seq for x in history.lines if isinstance(x.event, Released) and x.event.raises
        ),
        phases,
    )


def _labels(history: History) -> list[tuple[str, LabelStory]]:
    """The labels with their first approval under each confirmation, and b as their sum."""
    approvals: dict[str, dict[str, Approval]] = {}
    for event in history.events(Approved):
        mine = approvals.setdefault(event.label, {})
        mine.setdefault(event.approval.confirmation.event, event.approval)
    found = []
    for label, mine in approvals.items():
        bounds = [bound_of(a.budget) for a in mine.values()]
        bound = None if None in bounds else sum(b for b in bounds if b is not None)
        found.append((label, LabelStory(label, tuple(mine.values()), bound)))
    return found
