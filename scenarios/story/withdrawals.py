"""What ends an authorization: acknowledged revocations, and the clocks by which it expires."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from ...chaos.events import Clock
from ...targets.declaration import Facts
from ...targets.replies import Revoked
from ..history import History
from .admissions import Admitted, Evidence
from .calls import CallStory
from .labels import LabelStory

MARGIN_S: Final = 0.05
"""What a wall clock may drift from the monotonic one within a schedule, seconds."""


@dataclass(frozen=True, slots=True)
class Clocks:
    """The clock that expiry is read from, node by node; a node without one is not judged."""

    shown: Mapping[str, tuple[int, float]]

    @staticmethod
    def of(history: History) -> Clocks:
        """What the history says of the nodes' clocks, as far as the target reads those."""
        facts = history.header.declaration.facts
        shown: dict[str, tuple[int, float]] = {}
        for line in history.lines:
            event = line.event
            if isinstance(event, Clock):
                skew_s = event.skew_s if facts.clock == "injected" else 0.0
                shown[event.node] = (line.stamp.t_ns, event.wall_s + skew_s)
        return Clocks(shown)

    def at_s(self, node: str, t_ns: int) -> float | None:
        """What the node's clock showed then, seconds since the epoch."""
        if node not in self.shown:
            return None
        since_ns, shown_s = self.shown[node]
        return shown_s + (t_ns - since_ns) / 1e9

    def expired(self, call: CallStory, expires_s: float, facts: Facts) -> bool:
        """The call began when t_e had passed for certain on its node's clock."""
        return self.passed(call.invoked.node, call.began_ns, expires_s, facts)

    def passed(self, node: str, t_ns: int, expires_s: float, facts: Facts) -> bool:
        """At that instant t_e had passed for certain on the node's clock."""
        now_s = self.at_s(node, t_ns)
        return now_s is not None and now_s >= expires_s + facts.clock_error_s + MARGIN_S


def root_revokes(label: LabelStory) -> list[CallStory]:
    """Revocations of the whole authorization that somebody may have begun, none of them refused."""
    return [c for c in label.of("revoke") if c.invoked.context is None and not c.took_nothing]


def acknowledged_revokes(label: LabelStory) -> list[CallStory]:
    """Those that the ledger acknowledged, in the order of their answers."""
    found = [c for c in root_revokes(label) if c.acknowledged and isinstance(c.value, Revoked)]
    return sorted(found, key=lambda call: call.ended)


def one_record(label: LabelStory) -> bool:
    """What is said of the label is said of one record."""
    return label.single and len(label.records) <= 1


def granted_by(admitted: Admitted) -> Evidence | None:
    """The first sign, where it is that somebody who asked was admitted."""
    first = admitted.evidence[0]
    return first if first.kind in ("reply", "dropped", "entry") else None


def calls_behind(label: LabelStory, owner: str | None) -> Iterator[CallStory]:
    """The calls that may have taken what this owner has."""
    return (c for c in label.uses() if c.owner == owner and not c.took_nothing)
