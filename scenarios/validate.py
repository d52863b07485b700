"""Whether a history keeps its own rules: a broken one accuses the harness, never a ledger.

Everything here is something that no ledger can cause, whatever it does. What a ledger can cause
(an effect without a label, say) is evidence, and belongs to the checks.
"""

from __future__ import annotations

from typing import Final

from ..chaos.events import (
    Approved,
    Armed,
    Event,
    Invoked,
    Killed,
    Phase,
    Read,
    Recorded,
    Released,
    Replied,
    SinkApplied,
    SinkReplied,
    SinkRequested,
    Stopped,
)
from ..targets.contract import OPERATIONS
from ..targets.replies import Busy, Refused, Replayed
from .history import History

PHASES: Final = ("hurt", "heal", "recover", "drain", "end")
KNOWN_OPS: Final = frozenset({*OPERATIONS, "effect", "lookup", "inspect", "open", "work"})
_ABOUT_AN_ADMISSION: Final = frozenset({"commit", "release", "renew"})
_NOT_GRANTED: Final = {"refused": Refused, "busy": Busy, "replayed": Replayed}


def validate(history: History) -> list[str]:
    """Every broken rule, in the order of the history; empty for a valid one."""
    walk = _Walk(history.header.guarded)
    for line in history.lines:
        walk.line(line)
    return walk.problems


class _Walk:
    def __init__(self, guarded: bool) -> None:
        self.problems: list[str] = []
        self._guarded = guarded
        self._seq: int | None = None
        self._calls: dict[int, Invoked] = {}
        self._replied: set[int] = set()
        self._approved: set[str] = set()
        self._dead: set[str] = set()
        self._on_its_way: dict[int, SinkRequested] = {}
        self._received: set[int] = set()
        self._applications: set[int] = set()
        self._phase = -1

    def line(self, line: Recorded) -> None:
        seq = line.stamp.seq
        if self._seq is not None and seq <= self._seq:
            self._say(seq, f"the sequence does not increase after {self._seq}")
        self._seq = seq
        event = line.event
        self._from_the_dead(seq, event)
        if isinstance(event, Approved):
            self._approved.add(event.label)
        elif isinstance(event, Invoked):
            self._invoked(seq, event)
        elif isinstance(event, Replied):
            self._reply(seq, event)
        elif isinstance(event, Killed):
            self._dead.add(event.node)
        elif isinstance(event, SinkRequested):
            self._requested(seq, event)
        elif isinstance(event, SinkApplied):
            self._sink_applied(seq, event)
        elif isinstance(event, SinkReplied):
            self._sink_replied(seq, event)
        elif isinstance(event, Read):
            self._read(seq, event, line.stamp.t_ns)
        elif isinstance(event, Phase):
            self._entered(seq, event)

    def _say(self, seq: int, what: str) -> None:
        self.problems.append(f"event {seq}: {what}")

    def _from_the_dead(self, seq: int, event: Event) -> None:
        """What was already on its way (replies, requests to the sink) may still arrive."""
        if isinstance(event, (Invoked, Armed, Stopped, Released)) and event.node in self._dead:
            kind = type(event).__name__
            self._say(seq, f"{kind} on node {event.node!r} after it was killed")

    def _invoked(self, seq: int, event: Invoked) -> None:
        if event.call in self._calls:
            self._say(seq, f"call {event.call} was invoked before")
        self._calls[event.call] = event
        if event.op not in KNOWN_OPS:
            self._say(seq, f"call {event.call}: there is no operation {event.op!r}")
        if event.op in _ABOUT_AN_ADMISSION and event.admission is None:
            self._say(seq, f"call {event.call}: {event.op} says no admission")
        if event.op == "effect" and event.admission is None and not self._guarded:
            self._say(seq, f"call {event.call}: an effect is sent without an admission")
        self._needs_approval(seq, event.label)

    def _needs_approval(self, seq: int, label: str | None) -> None:
        if label is not None and label not in self._approved:
            self._say(seq, f"the workload used the label {label!r} before it was approved")

    def _reply(self, seq: int, event: Replied) -> None:
        call = self._calls.get(event.call)
        if call is None:
            self._say(seq, f"a reply to call {event.call}, which was not invoked")
        if event.call in self._replied:
            self._say(seq, f"a second reply to call {event.call}")
        self._replied.add(event.call)
        value = event.value
        wanted = _NOT_GRANTED.get(event.outcome)
        if wanted is not None and value is not None and not isinstance(value, wanted):
            self._say(
                seq, f"call {event.call} is {event.outcome}, its value is none: {value!r:.80}"
            )
        plain = event.outcome == "granted" and call is not None and call.op != "effect"
        if plain and isinstance(value, (Refused, Busy)):
            self._say(seq, f"call {event.call} is granted, its value is none: {value!r:.80}")

    def _requested(self, seq: int, event: SinkRequested) -> None:
        if event.call is not None and event.call not in self._calls:
            self._say(seq, f"request {event.number} is of call {event.call}, which was not invoked")
        if event.lookup:
            self._received.add(event.number)
            return
        first = self._on_its_way.get(event.number)
        if event.number in self._received or (first is not None and event.held):
            self._say(seq, f"request {event.number} was received before")
        if first is not None and (first.key, first.tool, first.label) != (
            event.key, event.tool, event.label
        ):  # fmt: skip
            self._say(seq, f"request {event.number} was delivered otherwise than it was held")
        if event.held:
            self._on_its_way[event.number] = event
        else:
            self._received.add(event.number)

    def _sink_applied(self, seq: int, event: SinkApplied) -> None:
        if event.request not in self._received:
            held = "only held" if event.request in self._on_its_way else "never received"
            self._say(seq, f"request {event.request} was applied, and {held}")
        if event.application in self._applications:
            self._say(seq, f"application {event.application} is counted twice")
        self._applications.add(event.application)

    def _sink_replied(self, seq: int, event: SinkReplied) -> None:
        lost = event.how == "dropped" and event.request in self._on_its_way
        if event.request not in self._received and not lost:
            self._say(seq, f"an answer to request {event.request}, which was not received")

    def _read(self, seq: int, event: Read, t_ns: int) -> None:
        if event.began_ns > t_ns:
            self._say(seq, "a reading ended before it began")
        self._needs_approval(seq, event.label)

    def _entered(self, seq: int, event: Phase) -> None:
        if event.name not in PHASES:
            self._say(seq, f"there is no phase {event.name!r}")
            return
        position = PHASES.index(event.name)
        if position <= self._phase:
            self._say(seq, f"phase {event.name!r} is entered after {PHASES[self._phase]!r}")
        self._phase = position
